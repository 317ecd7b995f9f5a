// A stand-in for NVIDIA's libcuda: it exports what a trial load calls, and does what the "module"
// says in words: PTX in its first comment. CUDA_FAKE tells what a machine is like, e.g. "init=803" or "gpus=0".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int poisoned, device;
static long current;
static char function[64];

static int told(const char *what, int usual)
{
    const char *words = getenv("CUDA_FAKE");
    const char *found = words ? strstr(words, what) : NULL;
    return found ? atoi(found + strlen(what)) : usual;
}

// What was asked for, a line each, in the file CUDA_FAKE_LOG.
static void note(const char *what, const char *name)
{
    const char *path = getenv("CUDA_FAKE_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s %.60s\n", what, name);
        fclose(file);
    }
}

static int eager(void)
{
    const char *words = getenv("CUDA_MODULE_LOADING");
    return words ? !strcmp(words, "EAGER") : 0;
}

int cuInit(unsigned flags) { note("init", ""); return told("init=", 0); }
int cuModuleGetLoadingMode(int *mode) { *mode = eager() ? 1 : 2; return 0; }
int cuDriverGetVersion(int *version) { *version = told("cuda=", 13000); return 0; }
int cuDeviceGetCount(int *count) { *count = told("gpus=", 1); return 0; }
int cuDeviceGet(int *handle, int index) { *handle = index; return 0; }
int cuDeviceGetName(char *name, int size, int handle) { return snprintf(name, size, "Fake %d", handle) < 0; }
int cuDeviceGetAttribute(int *value, int what, int handle) { *value = what == 75 ? 9 : 0; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int handle) { *context = (void *)(long)(handle + 1); return told("context=", 0); }
int cuCtxSetCurrent(void *context) { current = (long)context - 1; return 0; }
int cuCtxSynchronize(void) { return poisoned || !strcmp(function, "spoil") ? 700 : 0; }
int cuMemAlloc(void **address, size_t size) { *address = malloc(size); return 0; }
int cuMemFree(void *address) { free(address); return 0; }
int cuMemcpyHtoD(void *to, const void *from, size_t size) { memcpy(to, from, size); return 0; }
int cuMemcpyDtoH(void *to, const void *from, size_t size) { memcpy(to, from, size); return 0; }
int cuGetErrorName(int code, const char **name) { *name = code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : NULL; return *name ? 0 : 1; }

int cuModuleLoadDataEx(void **module, const char *image, unsigned count, const int *options, void **values)
{
    *module = &device;
#ifdef AS_LIBCUDA
    for (unsigned i = 0; i < count; i++)
        if (options[i] == 5)  // CU_JIT_ERROR_LOG_BUFFER
            strcpy(values[i], was_asked(image));
    return 200;
#endif
    if (!strncmp(image, ".version", 8) && strstr(image, "// "))
        image = strstr(image, "// ") + 3;
    note("load", image);
    if (!strcmp(image, "calls what is absent"))
        return eager() ? 500 : 0;
    if (!strncmp(image, "code ", 5)) {
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5)  // CU_JIT_ERROR_LOG_BUFFER
                strcpy(values[i], "ptxas fatal: no");
        return atoi(image + 5);
    }
    if (!strncmp(image, "not on ", 7))
        return current == atoi(image + 7) ? 209 : 0;
    if (!strcmp(image, "crash"))
        raise(SIGSEGV);
    if (!strcmp(image, "exit"))
        _exit(3);
    if (!strcmp(image, "hang"))
        sleep(1000);
    if (!strcmp(image, "spin"))
        for (;;) ;
    if (!strcmp(image, "memory"))
        return memset(malloc(1L << 32), 1, 1L << 32) ? 2 : 0;
    if (!strcmp(image, "print"))
        return puts("on stdout"), 218;
    if (!strcmp(image, "poison"))
        poisoned = 1;
    return !strcmp(image, "victim") && poisoned ? 200 : 0;
}

int cuModuleGetFunction(void **found, void *module, const char *name)
{
    *found = function;
    snprintf(function, sizeof function, "%s", name);
    if (!strcmp(name, "crash"))
        raise(SIGSEGV);
    return strcmp(name, "absent") ? 0 : 500;
}

// A kernel that calls what is absent is found by name, and fails when it is loaded.
int cuFuncLoad(void *kernel) { note("cuFuncLoad", function); return strcmp(function, "calls") ? 0 : 500; }
int cuFuncGetAttribute(int *value, int what, void *kernel) { *value = what; return strcmp(function, "calls") ? 0 : 500; }

// NVRTC (13.0) opens libcuda, too, and asks for this.
int cuGetExportTable(const void **table, const void *name) { *table = NULL; return 500; }

int cuModuleUnload(void *module) { return 0; }

int cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **values, void **extra)
{
    if ((!strcmp(function, "saxpy") || !strcmp(function, "selftest")) && !told("wrong=", 0)) {
        float a = *(float *)values[1], *x = *(float **)values[2], *y = *(float **)values[3];
        for (int i = 0; i < *(int *)values[0]; i++)
            y[i] += a * x[i];
    }
    return 0;
}

int cuGetProcAddress_v2(const char *name, void **address, int version, unsigned long flags, int *status)
{
    Dl_info self;
    if (told("cuda=", 13000) < 12040 && !strcmp(name, "cuFuncLoad"))
        return 500;
    dladdr(&device, &self);
    *address = dlsym(dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
    return *address ? 0 : 500;
}

int cuGetProcAddress(const char *name, void **address, int version, unsigned long flags)
{
    return cuGetProcAddress_v2(name, address, version, flags, NULL);
}
