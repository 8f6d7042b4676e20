// Texture and surface objects of one to three dimensions, layers and gathers.
#include <cuda_runtime.h>

__global__ void sample(float4* out, cudaTextureObject_t line, cudaTextureObject_t plane, cudaTextureObject_t volume, const float* shift) {
    int i = threadIdx.x;
    float s = shift[i] + shift[i + 1];
    float4 a = tex1Dfetch<float4>(line, i);
    float b = tex2D<float>(plane, i + s, 0.5f);
    float c = tex3D<float>(volume, s, s, s);
    float d = tex2DLayered<float>(plane, s, s, 3);
    float4 e = tex2Dgather<float4>(plane, s, s, 1);
    float f = tex2DLod<float>(plane, s, s, 1.0f);
    out[i] = make_float4(a.x + b, a.y + c, d + e.z, a.w + f);
}

__global__ void surfaces(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x >= width) return;
    float v = surf2Dread<float>(from, x * 4, y);
    surf2Dwrite(v * 2.0f, to, x * 4, y, cudaBoundaryModeClamp);
}
