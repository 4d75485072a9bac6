// What the CPU can, as far as kernels ask.
#ifndef SIGHTLINE_COMMON_KERNELS_CPU_H_
#define SIGHTLINE_COMMON_KERNELS_CPU_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sightline::kernels {

// Beyond AVX2 and FMA, without which no server starts (common/rpc/cpu_check.h).
struct CpuFeatures {
  bool avx_vnni = false;
  bool avx512 = false;  // F, BW, DQ and VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;
};

// What the CPU has and the system lets this process use; found out once.  $SIGHTLINE_CPU leaves out
// what goes beyond its value (Within), to see on one machine what another would do.
const CpuFeatures& ThisCpu();

// `features` without what goes beyond `limit`: avx2, avx_vnni, avx512, avx512_vnni or amx; any
// other is no limit.
CpuFeatures Within(CpuFeatures features, std::string_view limit);

// InvalidArgument, with those that there are, if $SIGHTLINE_CPU is neither a limit nor empty.  A
// library cannot refuse when it is asked what the CPU can; so models and indexes are not opened.
absl::Status CheckCpuLimit();
// The same of a value; null for none.
absl::Status CheckCpuLimit(const char* limit);

// As /proc/cpuinfo names them: "avx2 avx512 avx512_vnni".
std::string NamesOf(const CpuFeatures& features);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_CPU_H_
