/* OpenACC: rows, a plane, a reduction, a routine. */
#pragma acc routine seq
static float weigh(float a, float b) { return 0.25f * a + b; }

void row(float *restrict out, const float *restrict in, int n) {
#pragma acc parallel loop gang vector copyout(out[0:n]) copyin(in[0:n])
    for (int i = 1; i < n - 1; ++i) out[i] = weigh(in[i - 1], in[i]) + in[i + 1];
}

void plane(double *restrict out, const double *restrict in, int nx, int ny) {
#pragma acc parallel loop gang copyout(out[0:nx * ny]) copyin(in[0:nx * ny])
    for (int y = 1; y < ny - 1; ++y)
#pragma acc loop vector
        for (int x = 1; x < nx - 1; ++x)
            out[y * nx + x] = in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] + in[(y + 1) * nx + x];
}

float sum(const float *in, int n) {
    float total = 0.0f;
#pragma acc parallel loop reduction(+ : total) copyin(in[0:n])
    for (int i = 0; i < n; ++i) total += in[i];
    return total;
}

int main(void) { return 0; }
