extern __device__ float scaled_sum(float a, float x, float y);

extern "C" __global__ void selftest(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = scaled_sum(a, x[i], y[i]);
}
