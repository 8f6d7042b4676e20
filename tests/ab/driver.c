/* A driver without a device: memory is the host's, `copy(from, to, n)` is the only kernel, and a
 * launch takes as many microseconds as FAKE_CUDA says: `100`, or `100,80,90` for the modules in the
 * order in which they are loaded, the last number for all further ones. Without that variable there is
 * no device. FAKE_ARCH is its compute capability (86 if there is none), FAKE_DRIVER what the driver says
 * of its version (12040). Built as libcuda.so and as libnvidia-ml.so.1. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;
enum { INVALID = 1, NO_DEVICE = 100, ILLEGAL_ADDRESS = 700 };

/* What a launch of the kernel of each module takes. */
static double launch_us[64], now_us;
static unsigned modules;
static int faulted, stream_of_ours;

static int number(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}
static int is_module(const void *module)
{
    const double *of = module;
    return of >= launch_us && of < launch_us + modules;
}

int cuInit(unsigned flags)
{
    return flags ? INVALID : getenv("FAKE_CUDA") ? 0 : NO_DEVICE;
}
int cuDriverGetVersion(int *version) { return *version = number("FAKE_DRIVER", 12040), 0; }
int cuDeviceGet(int *device, int n) { return *device = n, n ? 101 : 0; }
int cuDeviceGetName(char *name, int size, int device)
{
    return snprintf(name, size, "Fake %d", device) < 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    switch (attribute) {
    case 75: *value = number("FAKE_ARCH", 86) / 10; break; /* compute capability */
    case 76: *value = number("FAKE_ARCH", 86) % 10; break;
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
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &stream_of_ours, flags > 1; }
int cuStreamSynchronize(void *stream) { return stream ? faulted : INVALID; }
int cuStreamDestroy_v2(void *stream) { return stream != &stream_of_ours; }
int cuEventCreate(void **event, unsigned flags) { return *event = calloc(1, sizeof(double)), (int)flags; }
int cuEventDestroy_v2(void *event) { return free(event), 0; }
int cuEventRecord(void *event, void *stream) { return *(double *)event = now_us, stream != &stream_of_ours; }
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
    return stream != &stream_of_ours;
}
int cuModuleLoadData(void **module, const void *image)
{
    const char *times = getenv("FAKE_CUDA");
    for (unsigned before = 0; before < modules && strchr(times, ','); before++)
        times = strchr(times, ',') + 1;
    if (modules == sizeof launch_us / sizeof *launch_us)
        return INVALID;
    launch_us[modules] = atof(times);
    *module = &launch_us[modules++];
    return memcmp(image, "\177ELF", 4) ? 200 : 0;
}
int cuModuleUnload(void *module) { return !is_module(module); }
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return *function = module, strcmp(name, "copy") ? 500 : 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    return *value = attribute == 4 ? 32 : 0, !is_module(function); /* 4: registers */
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return !is_module(function) || attribute != 8 || value; /* 8: dynamic shared memory */
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t bytes)
{
    return *blocks = 1536 / threads, !is_module(function) || bytes;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    address from, to;
    uint32_t n;
    if (gx * gy * gz != 2 || bx * by * bz != 32 || shared || stream != &stream_of_ours || extra)
        return INVALID;
    memcpy(&from, parameters[0], 8);
    memcpy(&to, parameters[1], 8);
    memcpy(&n, parameters[2], 4);
    if (n > 64)
        return faulted = ILLEGAL_ADDRESS, 0; /* seen when somebody waits */
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, 4 * (size_t)n);
    if (!is_module(function))
        return INVALID;
    now_us += *(double *)function;
    return 0;
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
