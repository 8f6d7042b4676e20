// CUB's device-wide algorithms.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

void host(void* storage, size_t& bytes, const float* in, float* out, int n) {
    cub::DeviceReduce::Sum(storage, bytes, in, out, n);
    cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, n);
}
