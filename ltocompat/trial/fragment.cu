// fragment.ltoir: NVRTC 12.0.140, fragment.cu -arch=sm_75 -dlto, without this line
extern "C" __device__ float absent(float value);
extern "C" __device__ float present(float value)
{
    return absent(value) + 1.0f;
}
