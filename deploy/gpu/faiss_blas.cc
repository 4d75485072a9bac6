// What FAISS's part for a CPU calls of BLAS and LAPACK, for faiss_check where there is none
// (check.sh).  Exact search on a GPU comes to none of it, so that who calls is told, and to a
// library that has it, if one was loaded, passed on.
//
// Not for programs with LibTorch: it would call these in place of its own.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

template <typename... Arguments>
void PassOn(const char* function, Arguments*... arguments) {
  void* const found = dlsym(RTLD_NEXT, function);
  if (found == nullptr) {
    std::fprintf(stderr,
                 "FAISS calls %s on the CPU, and no library here has it: an exact search on a GPU "
                 "should not; load a BLAS with LD_PRELOAD to go on\n",
                 function);
    std::exit(1);
  }
  reinterpret_cast<void (*)(Arguments * ...)>(found)(arguments...);
}

}  // namespace

// Fortran has addresses only, of whatever they are.
using Any = void*;

extern "C" {

void sgemm_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, Any k, Any l,
            Any m) {
  PassOn("sgemm_", a, b, c, d, e, f, g, h, i, j, k, l, m);
}

void dgemm_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, Any k, Any l,
            Any m) {
  PassOn("dgemm_", a, b, c, d, e, f, g, h, i, j, k, l, m);
}

void ssyrk_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j) {
  PassOn("ssyrk_", a, b, c, d, e, f, g, h, i, j);
}

void sgesvd_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, Any k, Any l,
             Any m, Any n) {
  PassOn("sgesvd_", a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}

void dgesvd_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, Any k, Any l,
             Any m, Any n) {
  PassOn("dgesvd_", a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}

void dsyev_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i) {
  PassOn("dsyev_", a, b, c, d, e, f, g, h, i);
}

void sgeqrf_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h) {
  PassOn("sgeqrf_", a, b, c, d, e, f, g, h);
}

void sorgqr_(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i) {
  PassOn("sorgqr_", a, b, c, d, e, f, g, h, i);
}

}  // extern "C"
