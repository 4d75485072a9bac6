#include "common/index/ivf_file.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/index/index_checks.h"
#include "common/index/index_file.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {
namespace {

constexpr int64_t kCodesOfPart = 16;
constexpr float kGreatestCode = 127;  // of int8

// Loads sections of one file, and says what is wrong with them.
class Loader {
 public:
  Loader(const Container& container, const CallContext& call)
      : container_(container), call_(call) {}

  absl::StatusOr<SectionBytes> Load(absl::string_view name, Dtype dtype,
                                    const std::vector<int64_t>& shape) const {
    return LoadSection(container_, name, dtype, shape, call_);
  }

  // Of numbers that are finite `most` times as large, too.
  absl::Status CheckFinite(absl::string_view name, const float* numbers, int64_t count,
                           float most = 1) const {
    for (int64_t i = 0; i < count; ++i) {
      if (std::isfinite(numbers[i] * most)) continue;
      return InvalidIndexFile(container_.path(),
                              absl::StrCat("number ", i, " of section ", name, " is ", numbers[i],
                                           "; ", most, " times as much must be finite"));
    }
    return absl::OkStatus();
  }

 private:
  const Container& container_;
  const CallContext& call_;
};

absl::Status CheckLists(absl::string_view path, const IvfFile& file) {
  const int64_t* const offsets = file.offsets();
  const IvfShape& shape = file.shape;
  if (offsets[0] != 0 || offsets[shape.lists] != shape.rows) {
    return InvalidIndexFile(path, absl::StrCat("lists from ", offsets[0], " to ",
                                               offsets[shape.lists], " of ", shape.rows, " rows"));
  }
  for (int64_t list = 0; list < shape.lists; ++list) {
    if (offsets[list] > offsets[list + 1]) {
      return InvalidIndexFile(path, absl::StrCat("list ", list, " ends before it begins"));
    }
  }
  std::vector<bool> seen(shape.rows);
  for (int64_t position = 0; position < shape.rows; ++position) {
    const int64_t row = file.rows()[position];
    if (row < 0 || row >= shape.rows || seen[row]) {
      return InvalidIndexFile(
          path, absl::StrCat("row ", row, " of ", shape.rows, " at position ", position,
                             row < 0 || row >= shape.rows ? "" : " for a second time"));
    }
    seen[row] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckScalars(absl::string_view path, const IvfFile& file) {
  const int64_t block_bytes = file.shape.block_bytes();
  for (int64_t end = block_bytes; end <= file.shape.code_bytes(); end += block_bytes) {
    float scalars[2 * kernels::kNibbleBlockRows];
    std::memcpy(scalars, file.codes() + end - sizeof(scalars), sizeof(scalars));
    for (const float scalar : scalars) {
      if (std::isfinite(scalar)) continue;
      return InvalidIndexFile(path, absl::StrCat("a scalar of the block of codes that ends at ",
                                                 end, " is not finite"));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadLists(const Loader& loader, absl::string_view path, IvfFile* file) {
  const IvfShape& shape = file->shape;
  ASSIGN_OR_RETURN(file->centroid_bytes,
                   loader.Load("centroids", Dtype::kInt8, {shape.lists, shape.centroid_bytes()}));
  ASSIGN_OR_RETURN(file->centroid_scale_bytes,
                   loader.Load("centroid_scales", Dtype::kFloat32, {shape.lists}));
  RETURN_IF_ERROR(
      loader.CheckFinite("centroid_scales", file->centroid_scales(), shape.lists, kGreatestCode));
  ASSIGN_OR_RETURN(file->reach_bytes, loader.Load("reaches", Dtype::kFloat32, {shape.lists}));
  RETURN_IF_ERROR(loader.CheckFinite("reaches", file->reaches(), shape.lists));
  ASSIGN_OR_RETURN(file->offset_bytes, loader.Load("offsets", Dtype::kInt64, {shape.lists + 1}));
  ASSIGN_OR_RETURN(file->row_bytes, loader.Load("rows", Dtype::kInt32, {shape.rows}));
  RETURN_IF_ERROR(CheckLists(path, *file));
  if (shape.axes == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(file->axis_bytes,
                   loader.Load("axes", Dtype::kInt8, {shape.axes, shape.centroid_bytes()}));
  ASSIGN_OR_RETURN(file->axis_scale_bytes,
                   loader.Load("axis_scales", Dtype::kFloat32, {shape.axes}));
  return loader.CheckFinite("axis_scales", file->axis_scales(), shape.axes);
}

absl::Status LoadCodes(const Loader& loader, absl::string_view path, IvfFile* file) {
  const IvfShape& shape = file->shape;
  if (shape.code == IvfCode::kInt8) {
    ASSIGN_OR_RETURN(file->code_bytes,
                     loader.Load("codes", Dtype::kInt8, {shape.rows, shape.centroid_bytes()}));
    ASSIGN_OR_RETURN(file->code_scale_bytes,
                     loader.Load("code_scales", Dtype::kFloat32, {shape.rows}));
    return loader.CheckFinite("code_scales", file->code_scales(), shape.rows);
  }
  if (!shape.has_nibbles()) return absl::OkStatus();
  ASSIGN_OR_RETURN(file->code_bytes, loader.Load("codes", Dtype::kBytes, {shape.code_bytes()}));
  RETURN_IF_ERROR(CheckScalars(path, *file));
  if (shape.code != IvfCode::kPq4) return absl::OkStatus();
  const int64_t numbers = kCodesOfPart * shape.dimension;
  ASSIGN_OR_RETURN(file->codebook_bytes, loader.Load("codebooks", Dtype::kFloat32, {numbers}));
  return loader.CheckFinite("codebooks", file->codebooks(), numbers);
}

}  // namespace

void IvfFile::DecodeCentroid(int64_t list, float* to) const {
  const int8_t* const codes = centroid(list);
  const float scale = centroid_scales()[list];
  for (int i = 0; i < shape.dimension; ++i) to[i] = scale * static_cast<float>(codes[i]);
}

int64_t IvfFileBytes(const IvfShape& shape) {
  constexpr int64_t kFloat = sizeof(float);
  int64_t bytes = IvfListBytes(shape) + shape.code_bytes();
  if (shape.code == IvfCode::kInt8) bytes += shape.rows * kFloat;
  if (shape.code == IvfCode::kPq4) bytes += kCodesOfPart * shape.dimension * kFloat;
  return bytes;
}

int64_t IvfListBytes(const IvfShape& shape) {
  constexpr int64_t kFloat = sizeof(float);
  return shape.lists * (shape.centroid_bytes() + 2 * kFloat) +
         (shape.lists + 1) * static_cast<int64_t>(sizeof(int64_t)) +
         shape.rows * static_cast<int64_t>(sizeof(int32_t)) +
         shape.axes * (shape.centroid_bytes() + kFloat);
}

absl::StatusOr<IvfFile> LoadIvfFile(absl::string_view path, const IvfShape& shape,
                                    const CallContext& call, IvfSections sections) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, OpenIndexFile(path));
  const Loader loader(*container, call);
  IvfFile file;
  file.shape = shape;
  RETURN_IF_ERROR(LoadLists(loader, path, &file));
  if (sections == IvfSections::kAll) RETURN_IF_ERROR(LoadCodes(loader, path, &file));
  return file;
}

absl::StatusOr<IvfFile> LoadIvfShard(absl::string_view directory,
                                     const bundle::v1::GenerationManifest& manifest, int shard,
                                     const VectorView& vectors, IvfSections sections,
                                     const CallContext& call) {
  RETURN_IF_ERROR(CheckView(vectors));
  ASSIGN_OR_RETURN(const IvfShape shape, IvfShapeOf(manifest, shard));
  if (vectors.rows != shape.rows || vectors.dimension != shape.dimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("vectors of ", vectors.rows, " rows of dimension ", vectors.dimension,
                     "; the manifest has ", shape.rows, " of ", shape.dimension));
  }
  IvfFile file;
  file.shape = shape;
  if (shape.rows == 0) return file;
  const bundle::v1::ShardManifest& description = manifest.shards(shard);
  if (description.index_files_size() != 1) {
    return MakeError(reasons::kContentInvalid,
                     absl::StrCat("shard ", shard, " names ", description.index_files_size(),
                                  " index files; kind 'ivf' has one"));
  }
  const std::string path = JoinPath(directory, description.index_files(0).path());
  return LoadIvfFile(path, shape, call, sections);
}

}  // namespace sightline
