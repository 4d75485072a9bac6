// The tensors of a conversion as a safetensors file, a piece at a time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/float16.h"
#include "common/base/status_macros.h"
#include "common/models/convert/convert.h"

namespace sightline {
namespace {

constexpr size_t kPieceElements = 1 << 18;

TensorDtype StoredAs(TensorDtype dtype, bool half) {
  if (half) return TensorDtype::kF16;
  return dtype == TensorDtype::kF16 ? TensorDtype::kF16 : TensorDtype::kF32;
}

float FloatOfHalf(uint16_t half) {
  float value;
  Float16ToFloat32(reinterpret_cast<const char*>(&half), 1, &value);
  return value;
}

// Infinity beyond 65504.
uint16_t HalfOfFloat(float value) {
  uint16_t half;
  Float32ToFloat16(&value, 1, reinterpret_cast<char*>(&half));
  return half;
}

template <typename T>
T Load(absl::string_view bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Element `index` of a tensor of fractions.
double Element(const TensorView& tensor, size_t index) {
  switch (tensor.dtype) {
    case TensorDtype::kF64:
      return Load<double>(tensor.bytes, index);
    case TensorDtype::kF32:
      return Load<float>(tensor.bytes, index);
    case TensorDtype::kF16:
      return FloatOfHalf(Load<uint16_t>(tensor.bytes, index));
    default: {  // bfloat16: the upper half of a float32
      const uint32_t bits = static_cast<uint32_t>(Load<uint16_t>(tensor.bytes, index)) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
  }
}

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

absl::Status NotFinite(const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", name, " holds a number that is not finite"));
}

// Whether no number has the exponent, all ones, of infinity and NaN.
template <typename T>
bool AllFinite(absl::string_view bytes, T exponent) {
  bool finite = true;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    finite &= (Load<T>(bytes, i) & exponent) != exponent;
  }
  return finite;
}

// Elements [begin, end) in the stored form.
absl::Status ConvertPiece(const std::string& name, const TensorView& tensor, TensorDtype stored,
                          size_t begin, size_t end, std::string* piece) {
  piece->clear();
  for (size_t i = begin; i < end; ++i) {
    const double value = Element(tensor, i);
    if (!std::isfinite(value)) return NotFinite(name);
    const auto narrow = static_cast<float>(value);
    const uint16_t half = stored == TensorDtype::kF16 ? HalfOfFloat(narrow) : 0;
    if (!std::isfinite(narrow) || (half & 0x7C00) == 0x7C00) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", name, " holds ", value, ", which does not fit ",
          stored == TensorDtype::kF16 ? "float16; store it without --half" : "float32"));
    }
    if (stored == TensorDtype::kF16) {
      Append(half, piece);
    } else {
      Append(narrow, piece);
    }
  }
  return absl::OkStatus();
}

// What a batch norm divides by the root of.
absl::Status CheckVariances(const std::string& name, const TensorView& tensor) {
  const size_t count = tensor.bytes.size() / TensorDtypeSize(tensor.dtype);
  for (size_t i = 0; i < count; ++i) {
    const double variance = Element(tensor, i);
    if (!(variance < 0)) continue;  // NaN is told of with all other tensors
    return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " holds the variance ",
                                                   variance, ", and variances are not negative"));
  }
  return absl::OkStatus();
}

absl::Status WriteTensor(const std::string& name, const TensorView& tensor, TensorDtype stored,
                         const ByteSink& sink) {
  const size_t count = tensor.bytes.size() / TensorDtypeSize(tensor.dtype);
  std::string piece;
  for (size_t begin = 0; begin < count; begin += kPieceElements) {
    const size_t end = std::min(begin + kPieceElements, count);
    if (stored == tensor.dtype) {  // as most are: float32, or float16
      const size_t size = TensorDtypeSize(stored);
      const absl::string_view bytes = tensor.bytes.substr(begin * size, (end - begin) * size);
      const bool finite = stored == TensorDtype::kF16 ? AllFinite<uint16_t>(bytes, 0x7C00)
                                                      : AllFinite<uint32_t>(bytes, 0x7F800000);
      if (!finite) return NotFinite(name);
      RETURN_IF_ERROR(sink(bytes));
      continue;
    }
    RETURN_IF_ERROR(ConvertPiece(name, tensor, stored, begin, end, &piece));
    RETURN_IF_ERROR(sink(piece));
  }
  return absl::OkStatus();
}

absl::Status WriteWeights(const NamedTensors& tensors, bool half, const ByteSink& sink) {
  NamedTensors stored = tensors;
  for (auto& [name, view] : stored) view.dtype = StoredAs(view.dtype, half);
  RETURN_IF_ERROR(sink(SafetensorsHeader(stored)));
  for (const auto& [name, view] : tensors) {
    if (absl::EndsWith(name, "running_var")) RETURN_IF_ERROR(CheckVariances(name, view));
    RETURN_IF_ERROR(WriteTensor(name, view, stored.at(name).dtype, sink));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelBundle> WriteConversion(absl::string_view store, const Conversion& conversion,
                                            const WriteOptions& options) {
  std::map<std::string, ContentWriter> files;
  files[std::string(kWeightsFile)] = [&](const ByteSink& sink) {
    return WriteWeights(conversion.tensors, options.half, sink);
  };
  files[conversion.manifest.tokenizer().vocabulary_file()] = [&](const ByteSink& sink) {
    return sink(conversion.vocabulary);
  };
  return StreamModelBundle(store, conversion.manifest, files);
}

}  // namespace sightline
