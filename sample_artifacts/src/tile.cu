// A tile kernel: nvcc --enable-tile compiles it to Tile IR, and that to SASS.
__tile_global__ void fill(float *out)
{
}
