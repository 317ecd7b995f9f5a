// absent-function.ltoir: NVRTC 12.0.140, kernelext.cu -arch=sm_75 -dlto, without this line
extern "C" __device__ float absent(float value);
extern "C" __global__ void present(float *x)
{
    *x = absent(*x);
}
