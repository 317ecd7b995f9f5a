"""Kernels for tests: libaxpy.so is loaded, sm_90.cubin too, scale.ltoir is linked by nvJitLink."""
