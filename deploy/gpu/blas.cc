// What our programs call of OpenBLAS, for builds without it (check.sh): LibTorch brings its own.
#include <dlfcn.h>

extern "C" {

// For an OpenBLAS that LibTorch has loaded; where there is none, there is nothing to set.
void openblas_set_num_threads(int threads) {
  void* const found = dlsym(RTLD_NEXT, "openblas_set_num_threads");
  if (found != nullptr) reinterpret_cast<void (*)(int)>(found)(threads);
}

// Of `synthesize --like` and `synthesize fit`, which then say that axes could not be computed.
void dsyevd_(const char* /*jobz*/, const char* /*uplo*/, const int* /*n*/, double* /*a*/,
             const int* /*lda*/, double* /*w*/, double* /*work*/, const int* /*lwork*/,
             int* /*iwork*/, const int* /*liwork*/, int* info) {
  *info = -1;
}

}  // extern "C"
