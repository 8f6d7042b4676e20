/* Writes the launch files of a benchmark, for `ptxasw run`, `verify` and `ab`.
 *
 * Compiled once for each benchmark with -DBENCHMARK='"NAME/NAME.h"'. Called with a folder and a
 * size
 * (`small`, `paper` or three numbers), it writes KERNEL.json for every kernel into the folder.
 */

#include BENCHMARK

static const char *const type = sizeof(real) == 4 ? "f32" : "f64";

static const char *element_type(const struct field *field)
{
    return field->element == BYTES ? "u8" : field->element == HALVES ? "f16" : type;
}

/* An array gets the same seed in all launches, so that runs can be compared. */
static void write_buffers(FILE *out, const struct problem *p, const struct launch *l)
{
    int used[MAX_FIELDS] = {0}, first = 1;
    for (int a = 0; a < l->count; a++)
        if (l->arguments[a].kind == POINTER)
            used[l->arguments[a].field] = 1;
    for (int n = 0; n < p->fields; n++) {
        if (!used[n])
            continue;
        fprintf(
            out,
            "%s\n  \"%s\": {\"type\": \"%s\", \"len\": %zu, \"fill\": \"random\", \"seed\": %d}",
            first ? "" : ",", p->field[n].name, element_type(&p->field[n]), p->field[n].length,
            n + 1);
        first = 0;
    }
}

static void write_argument(FILE *out, const struct problem *p, const struct argument *a)
{
    switch (a->kind) {
    case POINTER:
        fprintf(out, "{\"buffer\": \"%s\"}", p->field[a->field].name);
        break;
    case INTEGER:
        fprintf(out, "{\"type\": \"s32\", \"value\": %lld}", a->whole);
        break;
    case SIZE:
        fprintf(out, "{\"type\": \"u64\", \"value\": %lld}", a->whole);
        break;
    case NUMBER:
        fprintf(out, "{\"type\": \"%s\", \"value\": %.*g}", type, sizeof(real) == 4 ? 9 : 17,
                (double)a->number);
    }
}

static void write_launch(FILE *out, const struct problem *p, const struct launch *l)
{
    fprintf(out, "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u],\n",
            l->kernel, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z);
    fprintf(out, " \"buffers\": {");
    write_buffers(out, p, l);
    fprintf(out, "},\n \"args\": [");
    for (int a = 0; a < l->count; a++) {
        fprintf(out, "%s\n  ", a ? "," : "");
        write_argument(out, p, &l->arguments[a]);
    }
    fprintf(out, "]}\n");
}

int main(int argc, char **argv)
{
    struct problem p;
    int size[3] = {1, 1, 1};

    if (argc == 3 && !strcmp(argv[2], "small"))
        memcpy(size, small_size, sizeof size);
    else if (argc == 3 && !strcmp(argv[2], "paper"))
        memcpy(size, paper_size, sizeof size);
    else if (argc == 5)
        for (int n = 0; n < DIMENSIONS; n++)
            size[n] = atoi(argv[2 + n]);
    else
        give_up("usage: launch FOLDER (small | paper | NX NY NZ)");
    memset(&p, 0, sizeof p);
    p.nx = size[0], p.ny = size[1], p.nz = size[2];
    describe(&p);
    for (int n = 0; n < p.launches; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.json", argv[1], p.launch[n].kernel);
        FILE *out = fopen(path, "w");
        if (!out)
            give_up("cannot write a launch file");
        write_launch(out, &p, &p.launch[n]);
        if (fclose(out))
            give_up("cannot write a launch file");
    }
    return 0;
}
