// What the CPU can, as far as kernels ask.
#ifndef SIGHTLINE_COMMON_KERNELS_CPU_H_
#define SIGHTLINE_COMMON_KERNELS_CPU_H_

#include <string>

namespace sightline::kernels {

struct CpuFeatures {
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;
};

// Of this process on this machine: what the CPU has and the system lets a process use.  Tiles of
// AMX are asked of it with the first call, for the whole process.
// $SIGHTLINE_CPU=avx2, avx_vnni, avx512, vnni or amx leaves out what goes beyond: to see on one
// machine what another one would do.
const CpuFeatures& ThisCpu();

// As the names of /proc/cpuinfo: "avx2 avx512f avx512_vnni".
std::string NamesOf(const CpuFeatures& features);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_CPU_H_
