// Each thread loads 16 bytes of a row of its own.
extern "C" __global__ void own_rows(float4* out, const float4* in) {
    __shared__ float4 rows[32][8];
    unsigned lane = threadIdx.x;
#pragma unroll 1
    for (unsigned at = lane; at < 256; at += 32) rows[at / 8][at % 8] = in[at];
    __syncwarp();
    out[lane] = rows[lane][0];
}

extern "C" __global__ void padded_rows(float4* out, const float4* in) {
    __shared__ float4 rows[32][9];
    unsigned lane = threadIdx.x;
#pragma unroll 1
    for (unsigned at = lane; at < 256; at += 32) rows[at / 8][at % 8] = in[at];
    __syncwarp();
    out[lane] = rows[lane][0];
}
