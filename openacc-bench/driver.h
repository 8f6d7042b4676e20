/* The main program of every benchmark: initialises, runs once and checks, runs n times and times.
 *
 * Comes in: a benchmark's description (NAME.h: `describe`, `reference`, DIMENSIONS, `paper_size`)
 * and a back end (openacc.h or cuda.h: `device_name`, `to_device`, `from_device`, `run`,
 * `wait_for_device`). Goes out: one line, and exit status 0 if every output agrees with the plain
 * CPU loop, 1 if one does not, 2 for a wrong call, 77 where the device that the program was built
 * for is missing.
 */

#include <time.h>

/* Where the device's results may differ in the last bits (fused operations, other sums), relative
 * to the largest number expected in the same array. */
static const double tolerance = sizeof(real) == 4 ? 1e-5 : 1e-13;

static const char usage[] =
    "usage: %s [--size NX[xNY[xNZ]] | --paper] [--runs N] [--no-check]\n"
    "  --size      points in each direction; the last one given holds for the rest\n"
    "  --paper     the size of the paper\n"
    "  --runs N    timed runs after the one that is checked (10)\n"
    "  --no-check  skip the plain CPU loop, which takes long at large sizes\n";

struct options {
    int size[3], runs, check;
};

/* Reads `300x200x100`. */
static int read_size(const char *text, int size[3])
{
    char *end;
    int n = 0;
    for (; n < DIMENSIONS; n++) {
        const long value = strtol(text, &end, 10);
        if (end == text || value < 1 || value > 1 << 30)
            return 0;
        size[n] = (int)value;
        if (*end != 'x')
            break;
        text = end + 1;
    }
    for (int next = n + 1; next < DIMENSIONS; next++)
        size[next] = size[n];
    return *end == '\0';
}

static struct options read_options(int argc, char **argv)
{
    static const int usual[3][3] = {{100000, 1, 1}, {500, 300, 1}, {100, 60, 40}};
    struct options o = {{1, 1, 1}, 10, 1};
    memcpy(o.size, usual[DIMENSIONS - 1], sizeof o.size);
    for (int n = 1; n < argc; n++) {
        if (!strcmp(argv[n], "--paper"))
            memcpy(o.size, paper_size, sizeof o.size);
        else if (!strcmp(argv[n], "--no-check"))
            o.check = 0;
        else if (!strcmp(argv[n], "--runs") && n + 1 < argc && atoi(argv[n + 1]) > 0)
            o.runs = atoi(argv[++n]);
        else if (strcmp(argv[n], "--size") || n + 1 >= argc || !read_size(argv[++n], o.size)) {
            fprintf(stderr, usage, argv[0]);
            exit(2);
        }
    }
    return o;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        give_up("out of memory");
    return memory;
}

/* The same numbers on every machine (xorshift). */
static void initialise(const struct field *field, int index, void *data)
{
    unsigned long long state = 88172645463325252ULL + (unsigned long long)index;
    for (size_t n = 0; n < field->length; n++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double number = (double)(state >> 40) / (1 << 24);
        if (field->element == BYTES)
            ((unsigned char *)data)[n] = (unsigned char)(state >> 56);
        else if (field->element == HALVES)
            ((unsigned short *)data)[n] = to_half(0.5 + number);
        else
            ((real *)data)[n] =
                field->fill == BITS ? (real)(state >> 63) : (real)0.5 + (real)number;
    }
}

/* The largest difference, relative to the largest number expected; infinite for a NaN. */
static double difference(const real *found, const real *expected, size_t length)
{
    double largest = 0, scale = 0;
    for (size_t n = 0; n < length; n++) {
        const double error = fabs((double)found[n] - (double)expected[n]);
        if (!(error <= largest))
            largest = error >= 0 ? error : INFINITY;
        if (fabs((double)expected[n]) > scale)
            scale = fabs((double)expected[n]);
    }
    return scale > 0 ? largest / scale : largest;
}

/* Compares every output with the plain CPU loop's. Returns how many differ. */
static int check(const struct problem *p, real *const field[], real *const expected[],
                 double *largest)
{
    int wrong = 0;
    *largest = 0;
    reference(p, expected);
    for (int n = 0; n < p->fields; n++) {
        if (p->field[n].role != OUTPUT)
            continue;
        const double error = difference(field[n], expected[n], p->field[n].length);
        if (!(error <= tolerance)) {
            fprintf(stderr, "%s: off by %g of its largest number\n", p->field[n].name, error);
            wrong++;
        }
        if (error > *largest)
            *largest = error;
    }
    return wrong;
}

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    const struct options o = read_options(argc, argv);
    struct problem p;
    real *field[MAX_FIELDS], *expected[MAX_FIELDS];
    double largest = 0, best = INFINITY, total = 0;
    int wrong = 0;

    memset(&p, 0, sizeof p);
    p.nx = o.size[0], p.ny = o.size[1], p.nz = o.size[2];
    describe(&p);
    for (int n = 0; n < p.fields; n++) {
        field[n] = expected[n] = (real *)allocate(p.field[n].length, element_size(&p.field[n]));
        initialise(&p.field[n], n, field[n]);
        if (o.check && p.field[n].role == OUTPUT) {
            expected[n] = (real *)allocate(p.field[n].length, sizeof(real));
            memcpy(expected[n], field[n], p.field[n].length * sizeof(real));
        }
    }

    to_device(&p, field);
    run(&p, field);
    wait_for_device();
    if (o.check) {
        from_device(&p, field);
        wrong = check(&p, field, expected, &largest);
    }
    for (int n = 0; n < o.runs; n++) {
        const double start = seconds();
        run(&p, field);
        wait_for_device();
        const double spent = seconds() - start;
        total += spent;
        if (spent < best)
            best = spent;
    }

    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    printf("%-11s %dx%dx%d on %s: best of %d %.3f ms, mean %.3f ms, ", name, p.nx, p.ny, p.nz,
           device_name(), o.runs, 1e3 * best, 1e3 * total / o.runs);
    if (o.check)
        printf("largest error %.1e: %s\n", largest, wrong ? "WRONG" : "right");
    else
        printf("not checked\n");
    return wrong ? 1 : 0;
}
