#include "common/rpc/cpu_check.h"

#include <unistd.h>

namespace sightline {
namespace {

constexpr int kFeatures = 7;
constexpr const char* kNames[kFeatures] = {"AVX2", "FMA", "BMI1", "BMI2", "F16C", "LZCNT", "MOVBE"};

// No library function may be called here; the header says why.
char* Append(char* out, const char* text) {
  while (*text != '\0') *out++ = *text++;
  return out;
}

int Length(const char* text) {
  int length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

// Before all other initialisers (101 is the first priority that programs may use), and
// so before anything that was compiled for v3.
__attribute__((constructor(101))) void StopOnUnsupportedCpu() {
  const char* const problem = UnsupportedCpu();
  if (problem == nullptr) return;
  if (write(STDERR_FILENO, problem, Length(problem)) < 0) _exit(2);
  _exit(1);
}

}  // namespace

const char* DescribeMissingCpuFeatures(const bool* present) {
  static char line[256];
  char* out = Append(line, "This program needs an x86-64-v3 CPU; this one lacks");
  bool any = false;
  for (int i = 0; i < kFeatures; ++i) {
    if (present[i]) continue;
    out = Append(out, any ? ", " : " ");
    out = Append(out, kNames[i]);
    any = true;
  }
  out = Append(out, ". Run it on a CPU of 2013 or later, or a virtual machine that shows one.\n");
  *out = '\0';
  return any ? line : nullptr;
}

const char* UnsupportedCpu() {
  __builtin_cpu_init();
  const bool present[kFeatures] = {
      __builtin_cpu_supports("avx2") != 0,  __builtin_cpu_supports("fma") != 0,
      __builtin_cpu_supports("bmi") != 0,   __builtin_cpu_supports("bmi2") != 0,
      __builtin_cpu_supports("f16c") != 0,  __builtin_cpu_supports("lzcnt") != 0,
      __builtin_cpu_supports("movbe") != 0,
  };
  return DescribeMissingCpuFeatures(present);
}

}  // namespace sightline
