/* The OpenACC back end of driver.h. Comes behind a benchmark's `run`, which marks its arrays as
 * `present`. Without OpenACC in the compiler, or without a device, it is an ordinary CPU program.
 */

#ifdef _OPENACC
#include <openacc.h>
#endif

static const char *device_name(void)
{
#ifdef _OPENACC
    return acc_get_device_type() == acc_device_host ? "host (OpenACC)" : "device (OpenACC)";
#else
    return "host";
#endif
}

static void to_device(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->fields; n++) {
        char *data = (char *)field[n];
        const size_t length = p->field[n].length * element_size(&p->field[n]);
        (void)data, (void)length;
#pragma acc enter data copyin(data[0 : length])
    }
}

static void from_device(const struct problem *p, real *const field[])
{
    for (int n = 0; n < p->fields; n++) {
        char *data = (char *)field[n];
        const size_t length = p->field[n].length * element_size(&p->field[n]);
        (void)data, (void)length;
#pragma acc update self(data[0 : length])
    }
}

static void wait_for_device(void)
{
#pragma acc wait
}

#include "driver.h"
