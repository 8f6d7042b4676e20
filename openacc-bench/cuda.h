/* The CUDA back end of driver.h. What is launched, and with which arguments, is taken from the
 * benchmark's description, where `KERNELS` lists the kernels. */

#include <cuda_runtime.h>

static const struct {
    const char *name;
    const void *function;
} kernels[] = {
#define ENTRY(kernel) {#kernel, (const void *)kernel},
    KERNELS(ENTRY)
#undef ENTRY
};

static real *on_device[MAX_FIELDS];

static void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
    exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 2);
}

static const char *device_name(void)
{
    static cudaDeviceProp properties;
    must(cudaGetDeviceProperties(&properties, 0));
    return properties.name;
}

static void to_device(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->fields; n++) {
        const size_t bytes = p->field[n].length * element_size(&p->field[n]);
        must(cudaMalloc((void **)&on_device[n], bytes));
        must(cudaMemcpy(on_device[n], field[n], bytes, cudaMemcpyHostToDevice));
    }
}

static void from_device(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->fields; n++)
        must(cudaMemcpy(field[n], on_device[n], p->field[n].length * element_size(&p->field[n]),
                        cudaMemcpyDeviceToHost));
}

static const void *kernel(const char *name)
{
    for (const auto &entry : kernels)
        if (!strcmp(entry.name, name))
            return entry.function;
    give_up("a launch names no kernel");
    return nullptr;
}

static void run(const struct problem *p, real *const *)
{
    for (int n = 0; n < p->launches; n++) {
        const struct launch &l = p->launch[n];
        union {
            const real *pointer;
            int integer;
            size_t size;
            real number;
        } value[MAX_ARGUMENTS];
        void *arguments[MAX_ARGUMENTS];
        for (int a = 0; a < l.count; a++) {
            const struct argument &given = l.arguments[a];
            arguments[a] = &value[a];
            switch (given.kind) {
            case POINTER:
                value[a].pointer = on_device[given.field];
                break;
            case INTEGER:
                value[a].integer = (int)given.whole;
                break;
            case SIZE:
                value[a].size = (size_t)given.whole;
                break;
            case NUMBER:
                value[a].number = given.number;
            }
        }
        must(cudaLaunchKernel(kernel(l.kernel), dim3(l.grid.x, l.grid.y, l.grid.z),
                              dim3(l.block.x, l.block.y, l.block.z), arguments, 0, 0));
    }
}

static void wait_for_device(void)
{
    must(cudaDeviceSynchronize());
}

#include "driver.h"
