/* Fatbins as C arrays, the way cuFFT and cuSPARSE carry theirs: no wrapper, nothing registered. */
#include "constant.h"
#include "writable.h"
