/* Kernels whose warps access shared memory with bank conflicts: what `--strategy bank` lays out anew. */

#define TILE 32

/* A matrix of width x height floats, transposed by tiles; threads (32, 8). A warp stores a row of the tile and loads
 * a column. */
extern "C" __global__ void transposed(float *to, const float *from, int width, int height)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        to[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

/* Sums of 32 words of each row of tiles, one row for each thread of a warp: rows are loaded by the whole warp, and
 * each thread adds up its own. */
extern "C" __global__ void reduced(float *sums, const float *from, int width, int rows)
{
    __shared__ float tile[TILE][TILE];
    for (int first = blockIdx.x * TILE; first < rows; first += gridDim.x * TILE) {
        float sum = 0;
        for (int column = 0; column < width; column += TILE) {
            for (int j = 0; j < TILE; j++)
                tile[j][threadIdx.x] = from[(first + j) * width + column + threadIdx.x];
            __syncthreads();
            for (int k = 0; k < TILE; k++)
                sum += tile[threadIdx.x][k];
            __syncthreads();
        }
        sums[first + threadIdx.x] = sum;
    }
}

/* The product of two matrices of n x n floats by tiles; threads (32, 32). The second tile is kept transposed. */
extern "C" __global__ void product(float *c, const float *a, const float *b, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
        bs[threadIdx.x][threadIdx.y] = b[(first + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += as[threadIdx.y][k] * bs[threadIdx.x][k];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* Sums of four vectors of four words, those of a row by one thread of a warp. */
extern "C" __global__ void vectors(float4 *to, const float4 *from, int n)
{
    __shared__ float4 rows[TILE][4];
    int first = blockIdx.x * TILE * 4;
    for (int j = 0; j < 4; j++)
        rows[(threadIdx.x + TILE * j) / 4][threadIdx.x % 4] = from[first + TILE * j + threadIdx.x];
    __syncthreads();
    float4 sum = {0, 0, 0, 0};
    for (int k = 0; k < 4; k++) {
        const float4 one = rows[threadIdx.x][k];
        sum.x += one.x;
        sum.y += one.y;
        sum.z += one.z;
        sum.w += one.w;
    }
    to[blockIdx.x * TILE + threadIdx.x] = sum;
}
