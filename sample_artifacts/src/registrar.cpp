// Stands in for the CUDA runtime: takes every registration and forgets it. An executable linked
// with this instead of libcudart needs no vendor library and carries no vendor code.
extern "C" {
void **__cudaRegisterFatBinary(void *) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(...) {}
char __cudaInitModule(void **) { return 0; }
int __cudaGetKernel(...) { return 0; }
int __cudaPopCallConfiguration(...) { return 0; }
int __cudaLaunchKernel(...) { return 0; }
}
