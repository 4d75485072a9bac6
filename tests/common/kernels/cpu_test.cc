#include "common/kernels/cpu.h"

#include <cstdlib>
#include <string>

#include "common/kernels/kernel_choice.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

constexpr CpuFeatures kAll = {true, true, true, true, true, true};

std::string FastestOf(const char* precision, const char* limit) {
  const ProductKernel* const kernel = KernelFor(precision, Within(kAll, limit));
  return kernel == nullptr ? "none" : kernel->instructions;
}

TEST_CASE("a limit leaves out what goes beyond it") {
  REQUIRE(NamesOf(Within(kAll, "avx2")) == "avx2");
  REQUIRE(NamesOf(Within(kAll, "avx_vnni")) == "avx2 avx_vnni");
  REQUIRE(NamesOf(Within(kAll, "avx512")) == "avx2 avx_vnni avx512");
  REQUIRE(NamesOf(Within(kAll, "avx512_vnni")) == "avx2 avx_vnni avx512 avx512_vnni avx512_bf16");
  REQUIRE(NamesOf(Within(kAll, "amx")) == NamesOf(kAll));
  REQUIRE(NamesOf(Within(kAll, "")) == NamesOf(kAll));
  REQUIRE(NamesOf(Within({}, "amx")) == "avx2");
}

TEST_CASE("a limit that there is not is refused with those that there are") {
  for (const char* known : {"", "avx2", "avx_vnni", "avx512", "avx512_vnni", "amx"}) {
    REQUIRE(CheckCpuLimit(known).ok());
  }
  REQUIRE(CheckCpuLimit(nullptr).ok());
  for (const char* unknown : {"AVX2", "avx", "avx512vnni", "avx2 "}) {
    REQUIRE(CheckCpuLimit(unknown) ==
            absl::InvalidArgumentError(std::string("$SIGHTLINE_CPU is '") + unknown +
                                       "', which is none of avx2, avx_vnni, avx512, avx512_vnni, "
                                       "amx"));
  }
}

// In a process whose $SIGHTLINE_CPU somebody may have set.
TEST_CASE("the limit is that of the environment") {
  const char* const found = std::getenv("SIGHTLINE_CPU");
  const std::string before = found == nullptr ? "" : found;
  setenv("SIGHTLINE_CPU", "avx3", /*overwrite=*/1);
  REQUIRE(absl::IsInvalidArgument(CheckCpuLimit()));
  setenv("SIGHTLINE_CPU", before.c_str(), /*overwrite=*/1);
  REQUIRE(CheckCpuLimit().ok());
}

TEST_CASE("of a precision the fastest kernel is chosen that the CPU has") {
  REQUIRE(FastestOf("int8", "avx2") == "avx2");
  REQUIRE(FastestOf("int8", "avx_vnni") == "avx_vnni");
  REQUIRE(FastestOf("int8", "avx512") == "avx512bw");
  REQUIRE(FastestOf("int8", "avx512_vnni") == "avx512_vnni");
  REQUIRE(FastestOf("int8", "amx") == "amx_int8");
  REQUIRE(FastestOf("bfloat16", "avx512") == "none");
  REQUIRE(FastestOf("bfloat16", "avx512_vnni") == "avx512_bf16");
  REQUIRE(FastestOf("bfloat16", "amx") == "amx_bf16");
  REQUIRE(FastestOf("float32", "avx2") == "avx2");
  REQUIRE(FastestOf("float32", "amx") == "avx512f");
  REQUIRE(FastestOf("int3", "amx") == "none");
}

TEST_CASE("this CPU computes in float32 and int8 at least") {
  REQUIRE(KernelFor("float32", ThisCpu()) != nullptr);
  REQUIRE(KernelFor("int8", ThisCpu()) != nullptr);
}

}  // namespace
}  // namespace sightline::kernels
