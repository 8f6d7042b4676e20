// Cooperative groups: tiles, reductions and scans over them, coalesced groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void sums(float* out, const float* in, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    float x = i < n ? in[i] : 0.0f, y = i + 1 < n ? in[i + 1] : 0.0f;
    float sum = cg::reduce(warp, x + y, cg::plus<float>());
    int before = cg::exclusive_scan(warp, static_cast<int>(x));
    if (warp.thread_rank() == 0) out[i / 32] = sum + before;
    if (x > 0.0f) {
        auto active = cg::coalesced_threads();
        out[i] = active.size() + active.shfl(x, 0);
    }
    block.sync();
}

__global__ void whole(int* data) {
    cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] += 1;
    grid.sync();
    data[grid.thread_rank()] += data[(grid.thread_rank() + 1) % grid.size()];
}
