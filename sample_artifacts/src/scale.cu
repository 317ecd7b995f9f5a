// The other half of axpy.cu.
__device__ float scale(float value)
{
    return 2.0f * value;
}
