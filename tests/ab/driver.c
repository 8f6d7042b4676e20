/* A driver without a device: memory is the host's, `copy(from, to, n)` is the only kernel, and a
 * launch takes as many microseconds as FAKE_CUDA says. Without that variable there is no device.
 * Built as libcuda.so and as libnvidia-ml.so.1. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;
enum { INVALID = 1, NO_DEVICE = 100, ILLEGAL_ADDRESS = 700 };

static double launch_us, now_us;
static int faulted;

int cuInit(unsigned flags)
{
    const char *time = getenv("FAKE_CUDA");
    launch_us = time ? atof(time) : 0;
    return flags ? INVALID : time ? 0 : NO_DEVICE;
}
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuDeviceGet(int *device, int n) { return *device = n, n ? 101 : 0; }
int cuDeviceGetName(char *name, int size, int device)
{
    return snprintf(name, size, "Fake %d", device) < 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    switch (attribute) {
    case 75: *value = 8; break;     /* compute capability */
    case 76: *value = 6; break;
    case 16: *value = 4; break;     /* multiprocessors */
    case 38: *value = 1 << 16; break; /* bytes of L2 */
    case 33: *value = 0x1a; break;  /* PCI bus */
    default: *value = 0;
    }
    return device;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &now_us, device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxSetCurrent(void *context) { return context != &now_us; }
int cuCtxSynchronize(void) { return faulted; }
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &launch_us, flags > 1; }
int cuStreamSynchronize(void *stream) { return stream ? faulted : INVALID; }
int cuStreamDestroy_v2(void *stream) { return stream != &launch_us; }
int cuEventCreate(void **event, unsigned flags) { return *event = calloc(1, sizeof(double)), (int)flags; }
int cuEventDestroy_v2(void *event) { return free(event), 0; }
int cuEventRecord(void *event, void *stream) { return *(double *)event = now_us, stream != &launch_us; }
int cuEventSynchronize(void *event) { return event ? faulted : INVALID; }
int cuEventElapsedTime(float *ms, void *start, void *stop)
{
    *ms = (float)((*(double *)stop - *(double *)start) / 1000);
    return 0;
}
int cuMemAlloc_v2(address *memory, size_t bytes)
{
    return *memory = (address)(uintptr_t)malloc(bytes), bytes ? 0 : INVALID;
}
int cuMemFree_v2(address memory) { return free((void *)(uintptr_t)memory), 0; }
int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes)
{
    return memcpy((void *)(uintptr_t)to, from, bytes), faulted;
}
int cuMemcpyDtoH_v2(void *to, address from, size_t bytes)
{
    return memcpy(to, (void *)(uintptr_t)from, bytes), faulted;
}
int cuMemcpyDtoD_v2(address to, address from, size_t bytes)
{
    return memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes), faulted;
}
int cuMemsetD8Async(address to, unsigned char byte, size_t bytes, void *stream)
{
    memset((void *)(uintptr_t)to, byte, bytes);
    now_us += 1e6; /* must not be counted */
    return stream != &launch_us;
}
int cuModuleLoadData(void **module, const void *image)
{
    return *module = &faulted, memcmp(image, "\177ELF", 4) ? 200 : 0;
}
int cuModuleUnload(void *module) { return module != &faulted; }
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return *function = module, strcmp(name, "copy") ? 500 : 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    return *value = attribute == 4 ? 32 : 0, function != &faulted; /* 4: registers */
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return function != &faulted || attribute != 8 || value; /* 8: dynamic shared memory */
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t bytes)
{
    return *blocks = 1536 / threads, function != &faulted || bytes;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    address from, to;
    uint32_t n;
    if (gx * gy * gz != 2 || bx * by * bz != 32 || shared || stream != &launch_us || extra)
        return INVALID;
    memcpy(&from, parameters[0], 8);
    memcpy(&to, parameters[1], 8);
    memcpy(&n, parameters[2], 4);
    if (n > 64)
        return faulted = ILLEGAL_ADDRESS, 0; /* seen when somebody waits */
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, 4 * (size_t)n);
    now_us += launch_us;
    return function != &faulted;
}
int cuGetErrorName(int error, const char **text)
{
    *text = error == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return 0;
}
int cuGetErrorString(int error, const char **text) { return *text = error ? "in words" : "none", 0; }

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    return *device = &now_us, strcmp(address, "00000000:1a:00.0") ? 6 : 0;
}
int nvmlDeviceGetClockInfo(void *device, int domain, unsigned *mhz)
{
    return *mhz = domain == 1 ? 1410 : 0, device != &now_us; /* 1: multiprocessors */
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = getenv("FAKE_HEAT") ? 0x40 : 1; /* hardware thermal slowdown; idle */
    return device != &now_us;
}
