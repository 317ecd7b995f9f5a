// absent-variable.ltoir: NVRTC 12.0.140, variable.cu -arch=sm_80 -dlto, without this line
extern __device__ float gone;
extern "C" __global__ void one(float *x) { *x = gone; }
