/* Adds two vectors with the kernel of a PTX file, on memory of this process:
 *
 *     cc -I src/capi src/capi/examples/vecadd.c -L FOLDER -lptxasw -o vecadd
 *     LD_LIBRARY_PATH=FOLDER ./vecadd ptx-samples/vecadd/vecadd.sm_80.ptx
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptxasw.h"

enum { COUNT = 1000, THREADS = 128 };

static char *text(const char *path)
{
    static char bytes[1 << 16];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    return bytes;
}

int main(int count, char **arguments)
{
    static float a[COUNT], b[COUNT], sum[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    /* Addresses, and a number in the place of an address. */
    void *args[] = {a, b, sum, (void *)(intptr_t)COUNT};
    int code = ptx_run(count > 1 ? text(arguments[1]) : "", 4, args, THREADS, 1, 1, (COUNT + THREADS - 1) / THREADS, 1, 1, 0);
    printf("%d: %g %g %g\n", code, sum[1], sum[500], sum[COUNT - 1]);
    return code;
}
