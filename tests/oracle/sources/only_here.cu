// A kernel with an instruction that only architectures with a suffix have.
extern "C" __global__ void NAME(unsigned *values, float first, float second)
{
#if __CUDA_ARCH__ >= 1000
    unsigned packed;
    asm volatile("{ .reg .b8 pair; cvt.rn.satfinite.e2m1x2.f32 pair, %1, %2; cvt.u32.u8 %0, pair; }"
                 : "=r"(packed) : "f"(first), "f"(second));
    values[threadIdx.x] = packed;
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 96;");
    values[threadIdx.x] = first > second;
#endif
}
