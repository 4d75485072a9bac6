#include "common/index/ivf_shape.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"
#include "common/kernels/random_rotation.h"

namespace sightline {
namespace {

constexpr int kMostRefine = 1000;
constexpr int kGroupBits = 4;
// Of code rabitq with parts: bits along each axis, and axes of a part.
constexpr int kAxisBits = 2;
constexpr int kAxesOfPart = kGroupBits / kAxisBits;

struct CodeName {
  const char* name;
  IvfCode code;
};
constexpr CodeName kCodes[] = {
    {"rows", IvfCode::kRows},
    {"int8", IvfCode::kInt8},
    {"pq4", IvfCode::kPq4},
    {"rabitq", IvfCode::kRabitq},
};

absl::StatusOr<IvfCode> CodeOf(const std::string& name) {
  for (const CodeName& known : kCodes) {
    if (name == known.name) return known.code;
  }
  return absl::InvalidArgumentError(absl::StrCat("index_spec.ivf.code is '", name,
                                                 "'; it must be one of rows, int8, pq4, rabitq"));
}

// Of rabitq as many as have an axis, or a number of its own, for each number.
int MostParts(IvfCode code, int dimension) {
  if (code == IvfCode::kPq4) return dimension;
  return code == IvfCode::kRabitq ? (dimension + kAxesOfPart - 1) / kAxesOfPart : 0;
}

}  // namespace

int64_t IvfShape::space_size() const {
  return kernels::RandomRotation::SizeOf(axes > 0 ? axes : dimension);
}

int64_t IvfShape::space_groups() const {
  return space_size() * bits / kGroupBits;
}

int64_t IvfShape::group_count() const {
  return code == IvfCode::kRabitq ? space_groups() : parts;
}

int64_t IvfShape::block_bytes() const {
  return kernels::NibbleBlockBytes(group_count(), /*scalars=*/true);
}

int64_t IvfShape::centroid_bytes() const {
  return kernels::Int8RowBytes(dimension);
}

int64_t IvfShape::code_bytes() const {
  if (code == IvfCode::kRows) return 0;
  if (code == IvfCode::kInt8) return rows * kernels::Int8RowBytes(dimension);
  return kernels::NibbleBlocks(rows) * block_bytes();
}

absl::Status CheckIvfSpec(const bundle::v1::IndexSpec& spec, int dimension) {
  if (!spec.has_ivf()) {
    return absl::InvalidArgumentError(
        "index_spec: kind 'ivf' needs parameters of its own (ivf), at least list_count and code");
  }
  const bundle::v1::IvfSpec& ivf = spec.ivf();
  if (ivf.list_count() < 1 || ivf.list_count() > limits::kMaxIndexLists) {
    return absl::InvalidArgumentError(absl::StrCat("index_spec.ivf.list_count is ",
                                                   ivf.list_count(), "; it must be from 1 to ",
                                                   limits::kMaxIndexLists));
  }
  ASSIGN_OR_RETURN(const IvfCode code, CodeOf(ivf.code()));
  if (ivf.pq_parts() < (code == IvfCode::kPq4 ? 1 : 0) ||
      ivf.pq_parts() > MostParts(code, dimension)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index_spec.ivf.pq_parts is ", ivf.pq_parts(), "; of code pq4 it must be from 1 to ",
        dimension, ", the dimension, of rabitq from 0 to ", MostParts(IvfCode::kRabitq, dimension),
        ", which is two bits for each number, and of any other 0"));
  }
  const int least_refine = code == IvfCode::kRows ? 0 : 1;
  if (ivf.refine() < least_refine || ivf.refine() > kMostRefine) {
    return absl::InvalidArgumentError(absl::StrCat("index_spec.ivf.refine is ", ivf.refine(),
                                                   "; it must be from ", least_refine, " to ",
                                                   kMostRefine));
  }
  if (code == IvfCode::kRows && ivf.refine() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index_spec.ivf.refine is ", ivf.refine(),
        "; code 'rows' scores each row that it looks at once and for all: leave refine "
        "out"));
  }
  if (code == IvfCode::kRows && spec.rows_on_disk()) {
    return absl::InvalidArgumentError(
        "index_spec: code 'rows' reads every row that it looks at, so they have to lie in memory; "
        "rows_on_disk needs a code of int8, pq4 or rabitq");
  }
  return absl::OkStatus();
}

absl::StatusOr<IvfShape> IvfShapeOf(const bundle::v1::GenerationManifest& manifest, int shard) {
  const bundle::v1::IndexSpec& spec = manifest.index_spec();
  const int dimension = manifest.embedding().dimension();
  if (dimension < 1 || dimension > limits::kMaxDimension) {
    return absl::InvalidArgumentError(absl::StrCat(
        "embeddings of dimension ", dimension, "; it must be from 1 to ", limits::kMaxDimension));
  }
  RETURN_IF_ERROR(CheckIvfSpec(spec, dimension));
  const int64_t rows = manifest.shards(shard).item_count();
  if (rows < 0 || rows > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shard of ", rows, " items; kind 'ivf' has numbers for ",
                     std::numeric_limits<int32_t>::max(), ": make more shards"));
  }
  IvfShape shape;
  shape.rows = rows;
  shape.dimension = dimension;
  shape.lists = std::min<int64_t>(spec.ivf().list_count(), rows);
  shape.code = *CodeOf(spec.ivf().code());
  if (shape.code == IvfCode::kPq4) shape.parts = spec.ivf().pq_parts();
  if (shape.code == IvfCode::kRabitq && spec.ivf().pq_parts() > 0) {
    shape.bits = kAxisBits;
    const int64_t axes = int64_t{spec.ivf().pq_parts()} * kAxesOfPart;
    shape.axes = axes < dimension ? axes : 0;
  }
  shape.refine = std::max(1, spec.ivf().refine());
  shape.seed = static_cast<uint64_t>(spec.seed());
  return shape;
}

}  // namespace sightline
