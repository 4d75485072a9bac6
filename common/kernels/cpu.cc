#include "common/kernels/cpu.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline::kernels {
namespace {

constexpr char kLimitName[] = "SIGHTLINE_CPU";
// Each goes beyond those before it.
constexpr const char* kLimits[] = {"avx2", "avx_vnni", "avx512", "avx512_vnni", "amx"};

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf Cpuid(uint32_t leaf, uint32_t subleaf) {
  Leaf answer;
  if (!__get_cpuid_count(leaf, subleaf, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx)) {
    return {};
  }
  return answer;
}

bool Has(uint32_t word, int bit) {
  return (word >> bit & 1) != 0;
}

__attribute__((target("xsave"))) uint64_t EnabledStates() {
  return _xgetbv(0);
}

// Linux gives the registers of tiles to a process that asks (arch_prctl(2)).
bool MayUseTiles() {
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures FeaturesOfThisMachine() {
  // Intel, Software Developer's Manual, volume 2A, CPUID, and volume 1, 13.3.
  constexpr uint64_t kAvx512State = 0xE0, kTileState = 0x60000;
  CpuFeatures features;
  const Leaf basic = Cpuid(1, 0), extended = Cpuid(7, 0), more = Cpuid(7, 1);
  if (!Has(basic.ecx, 27)) return features;
  const uint64_t states = EnabledStates();
  features.avx_vnni = Has(more.eax, 4);
  if ((states & kAvx512State) != kAvx512State) return features;
  features.avx512 = Has(extended.ebx, 16) && Has(extended.ebx, 17) && Has(extended.ebx, 30) &&
                    Has(extended.ebx, 31);
  if (!features.avx512) return features;
  features.avx512_vnni = Has(extended.ecx, 11);
  features.avx512_bf16 = Has(more.eax, 5);
  if ((states & kTileState) != kTileState || !Has(extended.edx, 24) || !MayUseTiles()) {
    return features;
  }
  features.amx_int8 = Has(extended.edx, 25);
  features.amx_bf16 = Has(extended.edx, 22);
  return features;
}

}  // namespace

absl::Status CheckCpuLimit() {
  return CheckCpuLimit(std::getenv(kLimitName));
}

absl::Status CheckCpuLimit(const char* limit) {
  if (limit == nullptr || *limit == '\0') return absl::OkStatus();
  if (std::find(std::begin(kLimits), std::end(kLimits), std::string_view(limit)) !=
      std::end(kLimits)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("$", kLimitName, " is '", absl::CHexEscape(std::string(limit).substr(0, 100)),
                   "', which is none of ", absl::StrJoin(kLimits, ", ")));
}

CpuFeatures Within(CpuFeatures features, std::string_view limit) {
  int level = 0;
  while (level < 4 && limit != kLimits[level]) ++level;
  if (level < 4) features.amx_int8 = features.amx_bf16 = false;
  if (level < 3) features.avx512_vnni = features.avx512_bf16 = false;
  if (level < 2) features.avx512 = false;
  if (level < 1) features.avx_vnni = false;
  return features;
}

const CpuFeatures& ThisCpu() {
  static const CpuFeatures features = [] {
    const char* const limit = std::getenv(kLimitName);
    const CpuFeatures all = FeaturesOfThisMachine();
    return limit == nullptr ? all : Within(all, limit);
  }();
  return features;
}

std::string NamesOf(const CpuFeatures& features) {
  std::string names = "avx2";
  if (features.avx_vnni) names += " avx_vnni";
  if (features.avx512) names += " avx512";
  if (features.avx512_vnni) names += " avx512_vnni";
  if (features.avx512_bf16) names += " avx512_bf16";
  if (features.amx_int8) names += " amx_int8";
  if (features.amx_bf16) names += " amx_bf16";
  return names;
}

}  // namespace sightline::kernels
