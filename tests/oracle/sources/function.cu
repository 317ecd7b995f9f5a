// A function for other code to call; no kernel.
extern "C" __device__ float NAME(float value)
{
    return 2.0f * value;
}
