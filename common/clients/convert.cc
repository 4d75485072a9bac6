#include "common/clients/convert.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/float16.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/clients/convert_internal.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

using convert_internal::FromWire;
using convert_internal::ToWire;
using convert_internal::WireValue;

// Bytes without an element type are not sent.
constexpr WireValue<Dtype, v1::ElementType> kElementTypes[] = {
    {Dtype::kFloat32, v1::FLOAT32}, {Dtype::kFloat16, v1::FLOAT16}, {Dtype::kInt8, v1::INT8},
    {Dtype::kInt32, v1::INT32},     {Dtype::kInt64, v1::INT64},
};
static_assert(std::size(kElementTypes) == v1::ElementType_MAX);

absl::StatusOr<Dtype> DtypeOf(v1::ElementType type, const FieldPath& path) {
  if (const auto dtype = FromWire(kElementTypes, type)) return *dtype;
  return InvalidField(path, absl::StrCat("unknown element type ", static_cast<int>(type)));
}

constexpr WireValue<ScoreKind, v1::ScoreKind> kScoreKinds[] = {
    {ScoreKind::kRankRaw, v1::RANK_RAW},
    {ScoreKind::kSoftmaxMatch, v1::SOFTMAX_MATCH},
    {ScoreKind::kLogitMatch, v1::LOGIT_MATCH},
    {ScoreKind::kSigmoid, v1::SIGMOID},
};
static_assert(std::size(kScoreKinds) == v1::ScoreKind_MAX);

constexpr WireValue<CombinationKind, v1::Combination::Kind> kCombinationKinds[] = {
    {CombinationKind::kReplace, v1::Combination::REPLACE},
    {CombinationKind::kAddLambda, v1::Combination::ADD_LAMBDA},
    {CombinationKind::kNormAddLambda, v1::Combination::NORM_ADD_LAMBDA},
};
static_assert(std::size(kCombinationKinds) == v1::Combination::Kind_MAX);

absl::Status CheckRange(int64_t value, int64_t low, int64_t high, const FieldPath& path) {
  if (value >= low && value <= high) return absl::OkStatus();
  if (low == high) return InvalidField(path, absl::StrCat("is ", value, ", must be ", low));
  return InvalidField(path, absl::StrCat("is ", value, ", must be ", low, " to ", high));
}

// All factors are bounded by their callers, so that the product fits 64 bits by far.
absl::Status CheckDataLength(absl::string_view data, int64_t rows, int64_t columns,
                             size_t element_size, const FieldPath& path) {
  const int64_t expected = rows * columns * static_cast<int64_t>(element_size);
  if (static_cast<int64_t>(data.size()) == expected) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("holds ", data.size(), " bytes, ", rows, " x ", columns,
                                         " elements of ", element_size, " bytes need ", expected));
}

// memcpy allows no null pointer, not even for nothing.
void CopyBytes(void* to, const void* from, size_t length) {
  if (length > 0) std::memcpy(to, from, length);
}

absl::Status CheckWords(const google::protobuf::RepeatedPtrField<std::string>& words,
                        const FieldPath& parent, const char* name) {
  if (words.size() > limits::kMaxWords) {
    return InvalidField(
        FieldPath(parent, name),
        absl::StrCat("has ", words.size(), " entries, at most ", limits::kMaxWords));
  }
  for (int i = 0; i < words.size(); ++i) {
    if (words[i].size() > limits::kMaxWordBytes) {
      return InvalidField(
          FieldPath(parent, name, i),
          absl::StrCat("has ", words[i].size(), " bytes, at most ", limits::kMaxWordBytes));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVectors(const v1::PackedVectors& vectors, const VectorBounds& bounds,
                          const FieldPath& path) {
  if (vectors.element_type() != v1::FLOAT32 && vectors.element_type() != v1::FLOAT16) {
    return InvalidField(FieldPath(path, "element_type"), "must be FLOAT32 or FLOAT16");
  }
  RETURN_IF_ERROR(CheckRange(vectors.row_count(), bounds.min_rows, bounds.max_rows,
                             FieldPath(path, "row_count")));
  RETURN_IF_ERROR(CheckRange(vectors.dimension(), bounds.dimension > 0 ? bounds.dimension : 1,
                             bounds.dimension > 0 ? bounds.dimension : limits::kMaxDimension,
                             FieldPath(path, "dimension")));
  return CheckDataLength(vectors.data(), vectors.row_count(), vectors.dimension(),
                         vectors.element_type() == v1::FLOAT16 ? sizeof(uint16_t) : sizeof(float),
                         FieldPath(path, "data"));
}

// Writes the numbers of `vectors`, which have been checked and must be finite, to `values`, as
// many as there are.
absl::Status Unpack(const v1::PackedVectors& vectors, absl::Span<float> values,
                    const FieldPath& path) {
  if (vectors.element_type() == v1::FLOAT16) {
    Float16ToFloat32(vectors.data().data(), values.size(), values.data());
  } else {
    CopyBytes(values.data(), vectors.data().data(), vectors.data().size());
  }
  if (AllFinite(values)) return absl::OkStatus();
  return InvalidField(FieldPath(path, "data"), "holds a number that is not finite");
}

// Checks and unpacks `vectors`, which are let go of.
absl::StatusOr<std::vector<float>> TakeVectors(v1::PackedVectors vectors,
                                               const VectorBounds& bounds, const FieldPath& path) {
  RETURN_IF_ERROR(CheckVectors(vectors, bounds, path));
  std::vector<float> values(int64_t{vectors.row_count()} * vectors.dimension());
  RETURN_IF_ERROR(Unpack(vectors, absl::MakeSpan(values), path));
  return values;
}

// Of numbers that have been counted.
absl::Status CheckNumbers(const RegionSet& regions, const FieldPath& path) {
  if (const absl::Status boxes = CheckBoxes(regions.boxes); !boxes.ok()) {
    return InvalidField(FieldPath(path, "boxes"), boxes.message());
  }
  if (const absl::Status sizes = CheckBoxSizes(regions.boxes, regions.box_sizes); !sizes.ok()) {
    return InvalidField(FieldPath(path, "box_sizes"), sizes.message());
  }
  const absl::Status confidences = CheckConfidences(regions.confidences);
  return confidences.ok() ? confidences
                          : InvalidField(FieldPath(path, "confidences"), confidences.message());
}

absl::Status CheckMost(absl::string_view bytes, int64_t max_bytes, const FieldPath& path) {
  if (bytes.size() <= static_cast<size_t>(max_bytes)) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("has ", bytes.size(), " bytes, at most ", max_bytes));
}

absl::Status CheckLength(absl::string_view bytes, int64_t max_bytes, const FieldPath& path) {
  if (bytes.empty()) return InvalidField(path, "is empty");
  return CheckMost(bytes, max_bytes, path);
}

bool IsTensorName(absl::string_view name) {
  if (name.empty() || name.size() > limits::kMaxTensorNameLength) return false;
  for (char c : name) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '_') return false;
  }
  return true;
}

absl::StatusOr<FeatureTensor> TensorFromProto(v1::FeatureTensor tensor, const FieldPath& path) {
  if (!IsTensorName(tensor.name())) {
    return InvalidField(
        FieldPath(path, "name"),
        absl::StrCat("must be 1 to ", limits::kMaxTensorNameLength, " of a-z, 0-9 and _"));
  }
  ASSIGN_OR_RETURN(const Dtype dtype,
                   DtypeOf(tensor.element_type(), FieldPath(path, "element_type")));
  RETURN_IF_ERROR(
      CheckRange(tensor.row_count(), 0, limits::kMaxTensorRows, FieldPath(path, "row_count")));
  RETURN_IF_ERROR(CheckRange(tensor.column_count(), 1, limits::kMaxTensorColumns,
                             FieldPath(path, "column_count")));
  RETURN_IF_ERROR(CheckDataLength(tensor.data(), tensor.row_count(), tensor.column_count(),
                                  DtypeSize(dtype), FieldPath(path, "data")));
  FeatureTensor result;
  result.name = tensor.name();
  result.dtype = dtype;
  result.rows = tensor.row_count();
  result.columns = tensor.column_count();
  result.bytes = std::move(*tensor.mutable_data());
  return result;
}

}  // namespace

std::string FieldPath::ToString() const {
  std::string text = parent_ == nullptr ? std::string() : absl::StrCat(parent_->ToString(), ".");
  absl::StrAppend(&text, name_);
  if (index_ >= 0) absl::StrAppend(&text, "[", index_, "]");
  return text;
}

absl::Status InvalidField(const FieldPath& path, absl::string_view problem) {
  return InvalidField(path.ToString(), problem);
}

void PackVectors(absl::Span<const float> values, int rows, int dimension, v1::ElementType type,
                 v1::PackedVectors* out) {
  out->Clear();
  if (type != v1::FLOAT32 && type != v1::FLOAT16) return;
  out->set_element_type(type);
  out->set_row_count(rows);
  out->set_dimension(dimension);
  std::string* data = out->mutable_data();
  if (type == v1::FLOAT32) {
    data->assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return;
  }
  data->resize(values.size() * sizeof(uint16_t));
  Float32ToFloat16(values.data(), values.size(), &(*data)[0]);
}

void ToProto(const EmbeddingMatrix& matrix, v1::PackedVectors* out) {
  PackVectors(matrix.values(), static_cast<int>(matrix.rows()), matrix.dimension(), v1::FLOAT32,
              out);
}

absl::StatusOr<EmbeddingMatrix> FromProto(const v1::PackedVectors& vectors,
                                          const VectorBounds& bounds, const FieldPath& path) {
  RETURN_IF_ERROR(CheckVectors(vectors, bounds, path));
  EmbeddingMatrix matrix(vectors.row_count(), vectors.dimension());
  RETURN_IF_ERROR(
      Unpack(vectors, absl::MakeSpan(matrix.mutable_data(), matrix.values().size()), path));
  return matrix;
}

void ToProto(ItemFeatures features, v1::ItemFeatures* out) {
  out->Clear();
  for (FeatureTensor& tensor : features.tensors) {
    v1::FeatureTensor* message = out->add_tensors();
    message->set_name(std::move(tensor.name));
    message->set_element_type(ToWire(kElementTypes, tensor.dtype));
    message->set_row_count(static_cast<int>(tensor.rows));
    message->set_column_count(static_cast<int>(tensor.columns));
    message->set_data(std::move(tensor.bytes));
  }
}

absl::StatusOr<ItemFeatures> FromProto(v1::ItemFeatures features, const FieldPath& path) {
  if (features.tensors_size() > limits::kMaxTensors) {
    return InvalidField(
        FieldPath(path, "tensors"),
        absl::StrCat("has ", features.tensors_size(), " entries, at most ", limits::kMaxTensors));
  }
  ItemFeatures result;
  result.tensors.reserve(features.tensors_size());
  for (int i = 0; i < features.tensors_size(); ++i) {
    const FieldPath tensor_path(path, "tensors", i);
    ASSIGN_OR_RETURN(FeatureTensor tensor,
                     TensorFromProto(std::move(*features.mutable_tensors(i)), tensor_path));
    if (result.Find(tensor.name) != nullptr) {
      return InvalidField(FieldPath(tensor_path, "name"),
                          absl::StrCat("\"", tensor.name, "\" is there twice"));
    }
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

void ToProto(const ImageInput& image, v1::Regions* out) {
  out->Clear();
  const RegionSet& regions = image.regions;
  const int count = static_cast<int>(regions.count);
  PackVectors(regions.features, count, regions.feature_size, v1::FLOAT32, out->mutable_features());
  if (!regions.boxes.empty()) {
    PackVectors(regions.boxes, count, 4, v1::FLOAT32, out->mutable_boxes());
  }
  if (!regions.box_sizes.empty()) {
    PackVectors(regions.box_sizes, count, 2, v1::FLOAT32, out->mutable_box_sizes());
  }
  *out->mutable_confidences() = {regions.confidences.begin(), regions.confidences.end()};
  *out->mutable_ocr_tokens() = {image.ocr_tokens.begin(), image.ocr_tokens.end()};
  *out->mutable_tags() = {image.tags.begin(), image.tags.end()};
}

absl::StatusOr<ImageInput> FromProto(v1::Regions regions, const FieldPath& path) {
  const int count = regions.features().row_count();
  ImageInput image;
  image.regions.count = count;
  image.regions.feature_size = regions.features().dimension();
  ASSIGN_OR_RETURN(image.regions.features,
                   TakeVectors(std::move(*regions.mutable_features()), {1, limits::kMaxRegions, 0},
                               FieldPath(path, "features")));
  if (regions.has_boxes()) {
    ASSIGN_OR_RETURN(image.regions.boxes, TakeVectors(std::move(*regions.mutable_boxes()),
                                                      {count, count, 4}, FieldPath(path, "boxes")));
  } else if (regions.has_box_sizes()) {
    return InvalidField(FieldPath(path, "box_sizes"), "is there without boxes");
  }
  if (regions.has_box_sizes()) {
    ASSIGN_OR_RETURN(image.regions.box_sizes,
                     TakeVectors(std::move(*regions.mutable_box_sizes()), {count, count, 2},
                                 FieldPath(path, "box_sizes")));
  }
  const int confidences = regions.confidences_size();
  if (confidences != 0 && confidences != count) {
    return InvalidField(FieldPath(path, "confidences"),
                        absl::StrCat("has ", confidences, " entries for ", count,
                                     " regions; give one for each, or none"));
  }
  image.regions.confidences.assign(regions.confidences().begin(), regions.confidences().end());
  RETURN_IF_ERROR(CheckNumbers(image.regions, path));
  RETURN_IF_ERROR(CheckWords(regions.ocr_tokens(), path, "ocr_tokens"));
  RETURN_IF_ERROR(CheckWords(regions.tags(), path, "tags"));
  image.ocr_tokens.assign(regions.ocr_tokens().begin(), regions.ocr_tokens().end());
  image.tags.assign(regions.tags().begin(), regions.tags().end());
  return image;
}

void ToProto(StoredItem item, v1::Item* out) {
  out->Clear();
  out->set_item_id(std::move(item.item_id));
  out->set_caption(std::move(item.caption));
  out->set_uri(std::move(item.uri));
  for (std::string& tag : item.tags) out->add_tags(std::move(tag));
  out->set_shard(item.shard);
  out->set_row(item.row);
  if (!item.embedding.empty()) {
    PackVectors(item.embedding, 1, static_cast<int>(item.embedding.size()), v1::FLOAT32,
                out->mutable_embedding());
  }
}

absl::StatusOr<StoredItem> FromProto(const v1::Item& item, const FieldPath& path) {
  RETURN_IF_ERROR(CheckItemId(item.item_id(), FieldPath(path, "item_id")));
  if (item.shard() < 0) return InvalidField(FieldPath(path, "shard"), "is negative");
  if (item.row() < 0) return InvalidField(FieldPath(path, "row"), "is negative");
  StoredItem result;
  result.item_id = item.item_id();
  result.caption = item.caption();
  result.uri = item.uri();
  result.tags.assign(item.tags().begin(), item.tags().end());
  result.shard = item.shard();
  result.row = item.row();
  if (item.has_embedding()) {
    ASSIGN_OR_RETURN(const EmbeddingMatrix embedding,
                     FromProto(item.embedding(), VectorBounds(), FieldPath(path, "embedding")));
    result.embedding.assign(embedding.values().begin(), embedding.values().end());
  }
  return result;
}

absl::Status CheckItemId(absl::string_view item_id, const FieldPath& path) {
  return CheckLength(item_id, limits::kMaxItemIdBytes, path);
}

absl::Status CheckName(absl::string_view name, const FieldPath& path) {
  return CheckMost(name, limits::kMaxNameBytes, path);
}

absl::Status CheckText(absl::string_view text, const FieldPath& path) {
  return CheckLength(text, limits::kMaxTextBytes, path);
}

absl::Status CheckImage(absl::string_view image, const FieldPath& path) {
  return CheckLength(image, limits::kMaxImageBytes, path);
}

void ToProto(const GenerationRef& ref, v1::GenerationKey* out) {
  out->set_index(ref.index);
  out->set_generation(ref.generation);
  out->set_space(ref.space);
}

absl::StatusOr<GenerationRef> FromProto(const v1::GenerationKey& key, const FieldPath& path) {
  if (!IsValidName(key.index(), limits::kMaxIndexNameLength)) {
    return InvalidField(
        FieldPath(path, "index"),
        absl::StrCat("must match [a-z0-9][a-z0-9_-]{0,", limits::kMaxIndexNameLength - 1, "}"));
  }
  if (!IsValidName(key.generation(), limits::kMaxGenerationNameLength)) {
    return InvalidField(FieldPath(path, "generation"),
                        absl::StrCat("must match [a-z0-9][a-z0-9_-]{0,",
                                     limits::kMaxGenerationNameLength - 1, "}"));
  }
  RETURN_IF_ERROR(CheckLength(key.space(), 64, FieldPath(path, "space")));
  return GenerationRef{key.index(), key.generation(), key.space()};
}

void ToProto(const Combination& combination, v1::Combination* out) {
  out->set_kind(ToWire(kCombinationKinds, combination.kind));
  out->set_lambda(combination.lambda);
}

absl::StatusOr<Combination> FromProto(const v1::Combination& combination, const FieldPath& path) {
  const auto kind = FromWire(kCombinationKinds, combination.kind());
  if (!kind.has_value()) {
    return InvalidField(FieldPath(path, "kind"),
                        absl::StrCat("is ", combination.kind(),
                                     ", must be REPLACE, ADD_LAMBDA or NORM_ADD_LAMBDA"));
  }
  // Negated, so that NaN is refused too.
  if (!(combination.lambda() >= 0 && combination.lambda() <= 1)) {
    return InvalidField(FieldPath(path, "lambda"),
                        absl::StrCat("is ", combination.lambda(), ", must be in [0, 1]"));
  }
  return Combination{*kind, combination.lambda()};
}

v1::ScoreKind ToProto(ScoreKind kind) {
  return ToWire(kScoreKinds, kind);
}

absl::StatusOr<ScoreKind> FromProto(v1::ScoreKind kind, const FieldPath& path) {
  if (const auto known = FromWire(kScoreKinds, kind)) return *known;
  return InvalidField(path, absl::StrCat("unknown score kind ", static_cast<int>(kind)));
}

}  // namespace sightline
