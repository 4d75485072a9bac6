// What is rounded to be stored is near what it was, and is read again as what it is.
#include "common/models/inputs/stored_features.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/inputs/feature_tensors.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

template <typename Number>
FeatureTensor Tensor(const std::string& name, Dtype dtype, int64_t columns,
                     const std::vector<Number>& numbers) {
  FeatureTensor tensor{name, dtype, static_cast<int64_t>(numbers.size()) / columns, columns, ""};
  tensor.bytes.assign(reinterpret_cast<const char*>(numbers.data()),
                      numbers.size() * sizeof(Number));
  return tensor;
}

ItemFeatures Rows(int64_t columns, const std::vector<float>& numbers) {
  return {{Tensor("regions", Dtype::kFloat32, columns, numbers)}};
}

std::vector<int> Codes(const ItemFeatures& stored) {
  const std::string& bytes = stored.Find("regions")->bytes;
  std::vector<int> codes;
  for (const char byte : bytes) codes.push_back(static_cast<int8_t>(byte));
  return codes;
}

std::vector<float> Scales(const ItemFeatures& stored) {
  const std::string& bytes = stored.Find("regions_scales")->bytes;
  std::vector<float> scales(bytes.size() / sizeof(float));
  std::memcpy(scales.data(), bytes.data(), bytes.size());
  return scales;
}

// In eight bits, as it may be read again.
ItemFeatures InInt8(int64_t columns, const std::vector<float>& numbers) {
  const auto stored = StoredAs(Dtype::kInt8, Rows(columns, numbers));
  INFO(stored.status());
  REQUIRE(stored.ok());
  const auto read = RequireRows(*stored, "regions", /*max_rows=*/1000, columns);
  INFO(read.status());
  REQUIRE(read.ok());
  REQUIRE(read->rows == &stored->tensors[0]);
  REQUIRE(read->scales == &stored->tensors[1]);
  return *stored;
}

TEST_CASE("a row's largest magnitude is 127, its zeros stay zero, and ties go to even") {
  // Scales of 1/2, 1 and the least there is: what a row is made of is its own affair.
  const ItemFeatures stored = InInt8(4, {63.5f, 0, 0.75f, -0.25f,  //
                                         -127, 0.5f, 1.5f, 2.5f,   //
                                         0, -0.0f, 0, 0});
  REQUIRE(Codes(stored) == std::vector<int>{127, 0, 2, 0, -127, 0, 2, 2, 0, 0, 0, 0});
  REQUIRE(Scales(stored) == std::vector<float>{0.5f, 1, FLT_MIN});
  REQUIRE(stored.tensors[0].dtype == Dtype::kInt8);
  REQUIRE(stored.tensors[0].rows == 3);
  REQUIRE(stored.tensors[0].columns == 4);
  REQUIRE(stored.tensors[1].dtype == Dtype::kFloat32);
  REQUIRE(stored.tensors[1].rows == 3);
  REQUIRE(stored.tensors[1].columns == 1);
}

TEST_CASE("no number is further off than half a scale, of whatever magnitude a row is") {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const float magnitude : {1e-44f, 1e-38f, 1e-30f, 1e-3f, 1.0f, 40.0f, 1e30f, 1e35f}) {
    INFO(magnitude);
    std::vector<float> numbers(7 * 768);
    for (float& number : numbers) number = normal(random) * magnitude;
    numbers[100] *= 40;  // a channel far out
    const ItemFeatures stored = InInt8(768, numbers);
    const std::vector<int> codes = Codes(stored);
    const std::vector<float> scales = Scales(stored);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double scale = scales[i / 768];
      REQUIRE(std::abs(codes[i] * scale - numbers[i]) <= scale * (0.5 + 1e-5));
    }
    for (int row = 0; row < 7; ++row) {
      int most = 0;
      for (int i = 0; i < 768; ++i) most = std::max(most, std::abs(codes[row * 768 + i]));
      REQUIRE((most == 127 || scales[row] == FLT_MIN));
    }
  }
}

TEST_CASE("a row gives the same bytes wherever it stands") {
  std::vector<float> numbers;
  for (int i = 0; i < 5 * 19; ++i) numbers.push_back(std::sin(static_cast<float>(i * i)));
  const ItemFeatures all = InInt8(19, numbers);
  for (int row = 0; row < 5; ++row) {
    const auto first = numbers.begin() + row * 19;
    const ItemFeatures alone = InInt8(19, {first, first + 19});
    REQUIRE(alone.tensors[0].bytes == all.tensors[0].bytes.substr(row * 19, 19));
    REQUIRE(alone.tensors[1].bytes == all.tensors[1].bytes.substr(row * 4, 4));
  }
}

TEST_CASE("float16 is rounded to the nearest, float32 and ids are left alone") {
  ItemFeatures exact = Rows(2, {1, 1.0f + 1.0f / 2048, -65504, 0.1f});
  exact.tensors.push_back(Tensor<int32_t>("tags", Dtype::kInt32, 1, {101, 7, 102}));
  const auto half = StoredAs(Dtype::kFloat16, exact);
  REQUIRE(half.ok());
  REQUIRE(half->tensors[0].dtype == Dtype::kFloat16);
  REQUIRE(half->tensors[0].bytes == std::string("\x00\x3c\x00\x3c\xff\xfb\x66\x2e", 8));
  const auto whole = StoredAs(Dtype::kFloat32, exact);
  REQUIRE(whole.ok());
  REQUIRE(whole->tensors[0].bytes == exact.tensors[0].bytes);
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8}) {
    const ItemFeatures stored = *StoredAs(dtype, exact);
    REQUIRE(stored.tensors.back().name == "tags");
    REQUIRE(stored.tensors.back().bytes == exact.tensors[1].bytes);
  }
  REQUIRE(absl::IsInvalidArgument(StoredAs(Dtype::kInt64, exact).status()));
}

TEST_CASE("what is not finite, or too large, is refused by its name") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8}) {
      const absl::Status status = StoredAs(dtype, Rows(2, {1, 2, 3, bad})).status();
      REQUIRE(absl::IsInvalidArgument(status));
      REQUIRE(absl::StrContains(status.message(), "'regions'"));
    }
  }
  const ItemFeatures large = Rows(2, {1, 2, 3, 65520});
  REQUIRE_FALSE(StoredAs(Dtype::kFloat16, large).ok());
  REQUIRE(StoredAs(Dtype::kInt8, large).ok());
  // 127 times its scale is infinite.
  REQUIRE_FALSE(StoredAs(Dtype::kInt8, Rows(1, {FLT_MAX})).ok());
  REQUIRE(StoredAs(Dtype::kInt8, Rows(1, {0.999f * FLT_MAX})).ok());
}

TEST_CASE("rows in eight bits are taken only if all that they say is so") {
  const ItemFeatures good = InInt8(4, {1, 2, 3, 4, -5, 6, 7, 8});
  const auto refusal = [&](auto change) {
    ItemFeatures lie = good;
    change(lie.tensors[0], lie.tensors[1]);
    const absl::Status status = RequireRows(lie, "regions", /*max_rows=*/5, 4).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  const auto put = [&](float scale) {
    return refusal([&](FeatureTensor&, FeatureTensor& scales) {
      std::memcpy(&scales.bytes[4], &scale, sizeof(scale));
    });
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {-0.1f, -FLT_MIN, infinity, -infinity, FLT_MAX, FLT_MAX / 126,
                          std::numeric_limits<float>::quiet_NaN()}) {
    REQUIRE_THAT(put(bad), Catch::Contains("'regions_scales'"));
  }
  using Tensor = FeatureTensor;
  REQUIRE_THAT(refusal([](Tensor& rows, Tensor&) { rows.bytes[5] = '\x80'; }),
               Catch::Contains("-128"));
  REQUIRE_THAT(refusal([](Tensor& rows, Tensor&) { rows.bytes += 'x'; }), Catch::Contains("bytes"));
  REQUIRE_THAT(refusal([](Tensor&, Tensor& scales) { scales.name = "scales"; }),
               Catch::Contains("'regions_scales' is missing"));
  REQUIRE_THAT(refusal([](Tensor&, Tensor& scales) { scales.dtype = Dtype::kInt32; }),
               Catch::Contains("int32"));
  REQUIRE_THAT(refusal([](Tensor&, Tensor& scales) { scales.bytes.pop_back(); }),
               Catch::Contains("bytes"));
  REQUIRE_THAT(refusal([](Tensor&, Tensor& scales) {
                 scales.rows = 1;
                 scales.bytes.resize(4);
               }),
               Catch::Contains("has 1 rows for 2 of 'regions'"));
  REQUIRE_THAT(refusal([](Tensor&, Tensor& scales) {
                 scales.rows = 1;
                 scales.columns = 2;
               }),
               Catch::Contains("columns"));
  // Without their codes, scales are nobody's.
  REQUIRE_FALSE(RequireRows({{good.tensors[1]}}, "regions", 5, 4).ok());
  // A scale of zero says that all is zero.
  ItemFeatures zero = good;
  zero.tensors[1].bytes.assign(8, '\0');
  REQUIRE(RequireRows(zero, "regions", 5, 4).ok());
}

}  // namespace
}  // namespace sightline
