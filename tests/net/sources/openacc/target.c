/* OpenMP: target regions with teams, a critical section, SIMD loops, a declared function. */
#pragma omp declare target
static int table[8] = {1, 2, 3, 5, 8, 13, 21, 34};
int pick(int i) { return table[i & 7]; }
#pragma omp end declare target

void teams(float *out, const float *in, int n) {
#pragma omp target teams distribute parallel for map(from : out[0 : n]) map(to : in[0 : n])
    for (int i = 0; i < n - 2; ++i) out[i] = in[i] + in[i + 1] + in[i + 2] + pick(i);
}

int counted(const int *in, int n) {
    int count = 0;
#pragma omp target parallel for simd reduction(+ : count) map(to : in[0 : n])
    for (int i = 1; i < n; ++i) count += in[i] > in[i - 1];
#pragma omp target map(tofrom : count)
    {
#pragma omp parallel
#pragma omp critical
        count += 1;
    }
    return count;
}

int main(void) { return 0; }
