#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

template <typename T>
std::string BytesOf(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> NumbersOf(absl::string_view bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// A bundle of one tensor beside a vocabulary.
absl::StatusOr<ModelBundle> WriteOne(const TempDir& dir, TensorDtype dtype,
                                     const std::string& bytes, bool half) {
  Conversion conversion;
  conversion.manifest.set_family("uniter");
  conversion.manifest.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::WORDPIECE);
  conversion.manifest.mutable_tokenizer()->set_max_token_count(10);
  conversion.manifest.mutable_tokenizer()->set_vocabulary_file("vocab.txt");
  conversion.vocabulary = "[PAD]\n";
  const auto count = static_cast<int64_t>(bytes.size() / TensorDtypeSize(dtype));
  conversion.tensors["w"] = {dtype, {count}, bytes};
  WriteOptions options;
  options.half = half;
  return WriteConversion(dir.path(), conversion, options);
}

// What the bundle holds of it.
TensorDtype Stored(TensorDtype dtype, const std::string& bytes, bool half, std::string* stored) {
  TempDir dir;
  const auto bundle = WriteOne(dir, dtype, bytes, half);
  INFO(bundle.status());
  REQUIRE(bundle.ok());
  REQUIRE(*ReadFile(bundle->FilePath("vocab.txt")) == "[PAD]\n");
  const auto file = Safetensors::Open(bundle->FilePath(kWeightsFile));
  REQUIRE(file.ok());
  const TensorView& view = (*file)->tensors().at("w");
  *stored = std::string(view.bytes);
  return view.dtype;
}

// By the definition of the format: sign, five bits of exponent, ten of fraction.
double HalfValue(uint16_t half) {
  const double sign = half >> 15 != 0 ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const double fraction = (half & 1023) / 1024.0;
  return exponent == 0 ? sign * std::pow(2, -14) * fraction
                       : sign * std::pow(2, exponent - 15) * (1 + fraction);
}

TEST_CASE("weights keep their type, and bfloat16 and float64 become float32") {
  std::string stored;
  // More than one piece, and a number of elements that no piece divides.
  std::vector<float> many(600'001);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i) / 3 - 1000;
  REQUIRE(Stored(TensorDtype::kF32, BytesOf(many), false, &stored) == TensorDtype::kF32);
  REQUIRE(NumbersOf<float>(stored) == many);
  REQUIRE(Stored(TensorDtype::kF64, BytesOf<double>({0.1, -2, 1e30}), false, &stored) ==
          TensorDtype::kF32);
  REQUIRE(NumbersOf<float>(stored) == std::vector<float>{0.1f, -2, 1e30f});
  REQUIRE(Stored(TensorDtype::kBf16, BytesOf<uint16_t>({0x3F80, 0xC040, 0x0001}), false, &stored) ==
          TensorDtype::kF32);
  REQUIRE(NumbersOf<float>(stored) == std::vector<float>{1, -3, std::ldexp(1.0f, -133)});
  REQUIRE(Stored(TensorDtype::kF32, "", false, &stored) == TensorDtype::kF32);
  REQUIRE(stored.empty());
}

TEST_CASE("every finite half stays what it is") {
  std::vector<uint16_t> halves;
  std::vector<float> values;
  for (int bits = 0; bits < 65'536; ++bits) {
    if ((bits >> 10 & 31) == 31) continue;
    halves.push_back(static_cast<uint16_t>(bits));
    values.push_back(static_cast<float>(HalfValue(halves.back())));
  }
  std::string stored;
  REQUIRE(Stored(TensorDtype::kF16, BytesOf(halves), false, &stored) == TensorDtype::kF16);
  REQUIRE((stored == BytesOf(halves)));
  REQUIRE(Stored(TensorDtype::kF32, BytesOf(values), true, &stored) == TensorDtype::kF16);
  REQUIRE((stored == BytesOf(halves)));
}

TEST_CASE("other numbers become the nearest half, ties the even one") {
  std::mt19937 random(5);
  std::vector<float> values = {
      65519.0f, 2049, 2051, std::ldexp(1.0f, -25), std::ldexp(3.0f, -25), std::ldexp(1.0f, -26),
      1e-30f};
  for (int i = 0; i < 100'000; ++i) {
    const int exponent = static_cast<int>(random() % 43) - 27;
    const float value = std::ldexp(static_cast<float>(random()), exponent - 32);
    values.push_back(random() % 2 == 0 ? value : -value);
  }
  std::string stored;
  REQUIRE(Stored(TensorDtype::kF32, BytesOf(values), true, &stored) == TensorDtype::kF16);
  const std::vector<uint16_t> halves = NumbersOf<uint16_t>(stored);
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::fabs(HalfValue(halves[i]) - values[i]);
    for (const int step : {-1, 1}) {
      const uint16_t magnitude = halves[i] & 0x7FFF;
      if ((magnitude == 0 && step < 0) || (magnitude == 0x7BFF && step > 0)) continue;
      const double other =
          std::fabs(HalfValue(static_cast<uint16_t>(halves[i] + step)) - values[i]);
      if (error < other || (error == other && halves[i] % 2 == 0)) continue;
      FAIL(values[i] << " became " << HalfValue(halves[i]));
    }
  }
}

TEST_CASE("numbers that are not finite or do not fit are refused by the tensor's name") {
  TempDir dir;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::nanf("")}) {
    const auto refused = WriteOne(dir, TensorDtype::kF32, BytesOf<float>({1, bad}), false);
    REQUIRE(absl::IsInvalidArgument(refused.status()));
    REQUIRE(absl::StrContains(refused.status().message(), "tensor w"));
  }
  REQUIRE(absl::StrContains(
      WriteOne(dir, TensorDtype::kF32, BytesOf<float>({65520}), true).status().message(),
      "without --half"));
  REQUIRE_FALSE(WriteOne(dir, TensorDtype::kF64, BytesOf<double>({1e300}), false).ok());
  REQUIRE_FALSE(WriteOne(dir, TensorDtype::kF16, BytesOf<uint16_t>({0x7C00}), false).ok());
  // Nothing is left of what was refused.
  REQUIRE(ListFilesBelow(dir.path())->empty());
}

TEST_CASE("a negative variance is refused by the tensor's name") {
  Workplace place("saf", 60);
  MutableCheckpoint checkpoint("saf");
  checkpoint.Add("sim_enc.SAF_module.bn.running_var", {1}, -0.5f);
  checkpoint.SavePickle(place.options.checkpoint);
  const absl::Status status =
      WriteConversion(place.dir.File("store"), place.MustConvert(), {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "sim_enc.SAF_module.bn.running_var"));
  REQUIRE(absl::StrContains(status.message(), "-0.5, and variances are not negative"));
}

TEST_CASE("half the precision is half the file") {
  Workplace place("uniter_small", 120);
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.pt";
  WriteOptions half;
  half.half = true;
  const auto full = WriteConversion(place.dir.path(), place.MustConvert(), {});
  const auto small = WriteConversion(place.dir.path(), place.MustConvert(), half);
  REQUIRE((full.ok() && small.ok()));
  REQUIRE(full->id != small->id);
  const auto full_file = Safetensors::Open(full->FilePath(kWeightsFile));
  const auto small_file = Safetensors::Open(small->FilePath(kWeightsFile));
  for (const auto& [name, view] : (*full_file)->tensors()) {
    const TensorView& other = (*small_file)->tensors().at(name);
    REQUIRE(other.shape == view.shape);
    REQUIRE(2 * other.bytes.size() == view.bytes.size());
  }
}

}  // namespace
}  // namespace sightline
