__device__ float scaled_sum(float a, float x, float y)
{
    return a * x + y;
}
