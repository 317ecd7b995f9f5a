// y += scale(a * x), where scale lives in another translation unit (scale.cu).
extern __device__ float scale(float value);

extern "C" __global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += scale(a * x[i]);
}
