// A kernel that calls a function which other code must define.
extern "C" __device__ float CALLED(float value);

extern "C" __global__ void NAME(float *values)
{
    values[threadIdx.x] = CALLED(values[threadIdx.x]);
}
