#include "common/bundle/feature_dtype.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("there are three, by these names, and the default is one of them") {
  REQUIRE(FeatureDtypeNames() == std::vector<std::string>{"float16", "float32", "int8"});
  REQUIRE(*ParseFeatureDtype("float16") == Dtype::kFloat16);
  REQUIRE(*ParseFeatureDtype("float32") == Dtype::kFloat32);
  REQUIRE(*ParseFeatureDtype("int8") == Dtype::kInt8);
  REQUIRE(kDefaultFeatureDtype == Dtype::kFloat16);
}

TEST_CASE("another name is refused with those that there are, however it is spelt") {
  for (const std::string& name :
       {std::string(), std::string("int32"), std::string("INT8"), std::string("int8 "),
        std::string("int8\0", 5), std::string("\xff\n"), std::string(5000, 'x')}) {
    const absl::Status status = ParseFeatureDtype(name).status();
    INFO(status);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::EndsWith(status.message(), "is none of float16, float32, int8"));
    REQUIRE(status.message().size() < 500);
    REQUIRE_FALSE(absl::StrContains(status.message(), "\n"));
  }
}

TEST_CASE("a manifest says what was set, and nothing where that is the default") {
  bundle::v1::GenerationManifest manifest;
  REQUIRE(FeatureDtypeOf(manifest) == Dtype::kFloat16);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt8, Dtype::kFloat16}) {
    SetFeatureDtype(dtype, &manifest);
    REQUIRE(FeatureDtypeOf(manifest) == dtype);
    REQUIRE(manifest.feature_dtype() == (dtype == kDefaultFeatureDtype ? "" : DtypeName(dtype)));
  }
  // As a program may have written that says it in any case.
  manifest.set_feature_dtype("float16");
  REQUIRE(FeatureDtypeOf(manifest) == Dtype::kFloat16);
}

}  // namespace
}  // namespace sightline
