/* What a benchmark works on: its arrays, its size, and how its kernels are launched.
 *
 * Comes in: NAME/NAME.h, which describes one benchmark by the functions below. Goes out: `struct
 * problem`, from which the OpenACC driver, the CUDA driver and the generator of launch files all
 * take what they need, so that none of it is written down twice. Host code, C and C++ alike; knows
 * no device and no compiler.
 *
 * A benchmark in double precision defines REAL before it includes this file.
 */

#ifndef PROBLEM_H
#define PROBLEM_H

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef REAL
#define REAL float
#endif
typedef REAL real;

enum { MAX_FIELDS = 32, MAX_LAUNCHES = 16, MAX_ARGUMENTS = 40 };

/* What an array is for. Outputs, which a kernel may also read, are compared with the reference. */
enum role { INPUT, OUTPUT };

/* What an array holds at first: numbers in [0.5, 1.5), or zeros and ones. */
enum fill { NUMBERS, BITS };

/* What an array's elements are. All arrays travel as pointers to `real`; a benchmark with narrower
 * inputs casts them back. Outputs are always `real`. */
enum element { REALS, BYTES, HALVES };

struct field {
    const char *name;
    size_t length;
    enum role role;
    enum fill fill;
    enum element element;
};

enum kind { POINTER, INTEGER, SIZE, NUMBER };

/* An argument of a kernel. */
struct argument {
    enum kind kind;
    int field;       /* POINTER: which array */
    long long whole; /* INTEGER (32 bits) and SIZE (64 bits) */
    real number;     /* NUMBER */
};

struct dims {
    unsigned x, y, z;
};

/* One launch of a kernel; a run of the benchmark is all its launches in order. */
struct launch {
    const char *kernel;
    struct dims grid, block;
    int count;
    struct argument arguments[MAX_ARGUMENTS];
};

struct problem {
    int nx, ny, nz; /* points in each direction; the unused ones are 1 */
    int fields, launches;
    struct field field[MAX_FIELDS];
    struct launch launch[MAX_LAUNCHES];
};

static inline void give_up(const char *message)
{
    fprintf(stderr, "error: %s\n", message);
    exit(2);
}

static inline size_t points(const struct problem *p)
{
    return (size_t)p->nx * p->ny * p->nz;
}

static inline size_t element_size(const struct field *field)
{
    return field->element == BYTES ? 1 : field->element == HALVES ? 2 : sizeof(real);
}

/* The bits of a half, for a number in [2^-14, 2), rounded to zero: what every compiler can do, with
 * or without a type for halves. */
static inline unsigned short to_half(double number)
{
    int exponent;
    const double fraction = frexp(number, &exponent);
    return (unsigned short)(((exponent + 14) << 10) + (int)((fraction - 0.5) * 2048));
}

/* Number of the point (i, j, k). */
static inline size_t at(const struct problem *p, int i, int j, int k)
{
    return ((size_t)k * p->ny + j) * p->nx + i;
}

/* Number of the point `steps` further along an axis (0: i, 1: j, 2: k). */
static inline size_t beside(const struct problem *p, int i, int j, int k, int axis, int steps)
{
    return at(p, i + (axis == 0) * steps, j + (axis == 1) * steps, k + (axis == 2) * steps);
}

static inline struct dims dims(int x, int y, int z)
{
    const struct dims all = {(unsigned)x, (unsigned)y, (unsigned)z};
    if (x < 1 || y < 1 || z < 1)
        give_up("the size is too small for this benchmark");
    return all;
}

/* Declares array number `index`. */
static inline void array(struct problem *p, int index, const char *name, size_t length,
                         enum role role, enum fill fill)
{
    const struct field field = {name, length, role, fill, REALS};
    if (index >= MAX_FIELDS)
        give_up("too many arrays");
    p->field[index] = field;
    if (p->fields <= index)
        p->fields = index + 1;
}

static inline void input(struct problem *p, int index, const char *name, size_t length)
{
    array(p, index, name, length, INPUT, NUMBERS);
}

/* An input of narrower elements. */
static inline void input_of(struct problem *p, int index, const char *name, size_t length,
                            enum element element)
{
    input(p, index, name, length);
    p->field[index].element = element;
}

static inline void output(struct problem *p, int index, const char *name, size_t length)
{
    array(p, index, name, length, OUTPUT, NUMBERS);
}

static inline unsigned covering(unsigned threads, unsigned block)
{
    return (threads + block - 1) / block;
}

/* Adds a launch of at least `threads` threads. `kinds` has a letter for each argument: `p` the
 * array of that number, `i` an int, `z` a size_t, `r` a coefficient. */
static inline void launch(struct problem *p, const char *kernel, struct dims block,
                          struct dims threads, const char *kinds, ...)
{
    struct launch *l = &p->launch[p->launches++];
    va_list list;

    if (p->launches > MAX_LAUNCHES || strlen(kinds) > MAX_ARGUMENTS)
        give_up("too many launches or arguments");
    l->kernel = kernel;
    l->block = block;
    l->grid.x = covering(threads.x, block.x);
    l->grid.y = covering(threads.y, block.y);
    l->grid.z = covering(threads.z, block.z);
    l->count = (int)strlen(kinds);
    va_start(list, kinds);
    for (int n = 0; n < l->count; n++) {
        struct argument *a = &l->arguments[n];
        switch (kinds[n]) {
        case 'p':
            a->kind = POINTER;
            a->field = va_arg(list, int);
            break;
        case 'i':
            a->kind = INTEGER;
            a->whole = va_arg(list, int);
            break;
        case 'z':
            a->kind = SIZE;
            a->whole = (long long)va_arg(list, size_t);
            break;
        default:
            a->kind = NUMBER;
            a->number = (real)va_arg(list, double);
        }
    }
    va_end(list);
}

#endif
