/* Calls ptx_run as the test says: CASE FILE.ptx. Prints the code, and what the kernel has left. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ptxasw.h"

int main(int count, char **arguments)
{
    static char source[1 << 16];
    const char *what = count > 2 ? arguments[1] : "";
    FILE *file = fopen(count > 2 ? arguments[2] : "", "r");
    if (file == NULL)
        return 9;
    source[fread(source, 1, sizeof source - 1, file)] = 0;
    fclose(file);

    unsigned data[64] = {0}; /* On the stack. */
    unsigned *kept = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *target = data, *none[1];
    int blocks = 1, threads = 64, given = 3;
    if (strcmp(what, "kept") == 0)
        target = kept;
    else if (strcmp(what, "unmapped") == 0)
        target = (munmap(kept, 4096), kept);
    else if (strcmp(what, "few") == 0)
        given = 2;
    else if (strcmp(what, "negative") == 0)
        threads = -1;
    else if (strcmp(what, "twice") == 0)
        blocks = 2;
    void *args[] = {target, (void *)(intptr_t)-3, (void *)(intptr_t)0x3f000000};
    int code = ptx_run(source, given, given ? args : none, threads, 1, 1, blocks, 1, 1, 256);
    printf("%d: %x %x %x\n", code, data[0], data[1], data[63]);
    return 0;
}
