/* OpenACC: atomics, indirect addresses, private arrays, worker loops, long arithmetic. */
void histogram(int *bins, const unsigned char *in, long n) {
#pragma acc parallel loop copy(bins[0:256]) copyin(in[0:n])
    for (long i = 0; i < n - 1; ++i) {
#pragma acc atomic update
        bins[in[i] ^ in[i + 1]] += 1;
    }
}

void blocks(double *restrict out, const double *restrict in, const int *restrict at, int n) {
#pragma acc parallel loop gang worker copy(out[0:n]) copyin(in[0:n], at[0:n]) num_workers(4) vector_length(32)
    for (int i = 0; i < n; ++i) {
        double mine[8];
        for (int k = 0; k < 8; ++k) mine[k] = in[at[i] + k];
        double total = 0.0;
#pragma acc loop vector reduction(+ : total)
        for (int k = 0; k < 64; ++k) total += in[k] * mine[k & 7] + in[k + 1];
        out[i] = total;
    }
}

int main(void) { return 0; }
