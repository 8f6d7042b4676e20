// Thrust: transformations, reductions, sorting.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Next {
    const float* p;
    __device__ float operator()(int i) const { return p[i] + p[i + 1] + p[i + 2]; }
};
void host(float* a, const float* b, int n) {
    thrust::transform(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), a, Next{b});
    thrust::sort(thrust::device, a, a + n);
}
