// Between the wire (sightline.v1) and the domain's plain structs, both ways.
//
// ToProto never fails.  FromProto reads messages that nobody vouches for: every bound
// that types.proto states is checked, lengths before anything is allocated, and the
// error is InvalidArgument with the path of the field ("query.embedding.vector.data").
// The calls built of these types are in convert_backends.h, convert_search.h and
// convert_admin.h.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/bundle/item_features.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/score.h"
#include "common/image/image_input.h"
#include "sightline/v1/types.pb.h"

namespace sightline {

// Where in a request we are.  Lives on the stack of the functions that go down into the
// message and is spelled out only when something is wrong.
class FieldPath {
 public:
  explicit FieldPath(const char* name, int index = -1) : name_(name), index_(index) {}
  FieldPath(const FieldPath& parent, const char* name, int index = -1)
      : parent_(&parent), name_(name), index_(index) {}
  FieldPath(const FieldPath&) = delete;
  FieldPath& operator=(const FieldPath&) = delete;

  // "query.embedding.vector", "queries[3].text".
  std::string ToString() const;

 private:
  const FieldPath* parent_ = nullptr;
  const char* name_;
  int index_;
};

// As InvalidField of common/base/error_details.h.
absl::Status InvalidField(const FieldPath& path, absl::string_view problem);

// --- packed vectors ---

// `values` are rows * dimension numbers, row after row.  FLOAT32 is exact, FLOAT16 rounds to
// nearest even and overflows to infinity beyond 65504; any other type is a bug of the
// caller and gives an empty message, which every reader refuses.
void PackVectors(absl::Span<const float> values, int rows, int dimension, v1::ElementType type,
                 v1::PackedVectors* out);
void ToProto(const EmbeddingMatrix& matrix, v1::PackedVectors* out);  // FLOAT32

struct VectorBounds {
  int min_rows = 1;
  int max_rows = 1;
  int dimension = 0;  // 0: any from 1 to limits::kMaxDimension
};

// Refuses a row count or dimension out of bounds, an element type other than FLOAT32 and
// FLOAT16, data of any other length than the three declare, and numbers that are not
// finite.
absl::StatusOr<EmbeddingMatrix> FromProto(const v1::PackedVectors& vectors,
                                          const VectorBounds& bounds, const FieldPath& path);

// --- items and images ---

void ToProto(ItemFeatures features, v1::ItemFeatures* out);
// Refuses more than 16 tensors, a name twice, and any tensor whose data is not exactly
// rows * columns * size of its type.
absl::StatusOr<ItemFeatures> FromProto(v1::ItemFeatures features, const FieldPath& path);

// Regions, OCR tokens and tags of `image`; pixels do not travel this way.
void ToProto(const ImageInput& image, v1::Regions* out);
// The numbers are let go of as they are unpacked: at no time do they take more than the message
// and, of one of its fields, what becomes of it.
absl::StatusOr<ImageInput> FromProto(v1::Regions regions, const FieldPath& path);

void ToProto(StoredItem item, v1::Item* out);
absl::StatusOr<StoredItem> FromProto(const v1::Item& item, const FieldPath& path);

// Not empty and at most limits::kMaxItemIdBytes.
absl::Status CheckItemId(absl::string_view item_id, const FieldPath& path);

// At most limits::kMaxNameBytes, so that an error can quote it.  Whether there is such a thing is
// the domain's affair.
absl::Status CheckName(absl::string_view name, const FieldPath& path);

// Not empty and at most limits::kMaxTextBytes.  Blankness is the tokenizer's affair.
absl::Status CheckText(absl::string_view text, const FieldPath& path);

// Not empty and at most limits::kMaxImageBytes.
absl::Status CheckImage(absl::string_view image, const FieldPath& path);

// --- names, scores ---

void ToProto(const GenerationRef& ref, v1::GenerationKey* out);
// Refuses names that could not have been published and a space that is empty or longer
// than 64 characters.
absl::StatusOr<GenerationRef> FromProto(const v1::GenerationKey& key, const FieldPath& path);

void ToProto(const Combination& combination, v1::Combination* out);
// Refuses KIND_UNSPECIFIED (ask first whether the sender left the choice open) and a
// lambda outside [0, 1].
absl::StatusOr<Combination> FromProto(const v1::Combination& combination, const FieldPath& path);

v1::ScoreKind ToProto(ScoreKind kind);
absl::StatusOr<ScoreKind> FromProto(v1::ScoreKind kind, const FieldPath& path);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_H_
