// A kernel that needs nothing else.
extern "C" __global__ void NAME(float *values, float factor)
{
    values[threadIdx.x] *= factor;
}
