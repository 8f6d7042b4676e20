// y += a * x for complex numbers. Nothing says that a number is aligned to 16 bytes, so the
// compiler loads each part by itself.

struct Complex {
    double re, im;
};

extern "C" __global__ void zaxpy(const Complex *x, Complex *y, int n, double a_re, double a_im)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const Complex from = x[i];
    const Complex to = y[i];
    y[i].re = to.re + (a_re * from.re - a_im * from.im);
    y[i].im = to.im + (a_re * from.im + a_im * from.re);
}
