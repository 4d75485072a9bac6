// The file of an inverted file (ivf_shape.h), as a search has it in memory.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_FILE_H_
#define SIGHTLINE_COMMON_INDEX_IVF_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/index/ivf_shape.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Immutable.  Every number in it was checked: offsets ascend from 0 to the rows, each row is
// there once, and scales, reaches, slopes, offsets and codebooks are finite.
struct IvfFile {
  IvfShape shape;
  SectionBytes centroid_bytes, centroid_scale_bytes, reach_bytes, offset_bytes, row_bytes;
  SectionBytes code_bytes, code_scale_bytes, codebook_bytes, axis_bytes, axis_scale_bytes;

  const int8_t* centroid(int64_t list) const {
    return reinterpret_cast<const int8_t*>(centroid_bytes.data()) + list * shape.centroid_bytes();
  }
  const float* centroid_scales() const {
    return reinterpret_cast<const float*>(centroid_scale_bytes.data());
  }
  const float* reaches() const { return reinterpret_cast<const float*>(reach_bytes.data()); }
  const int64_t* offsets() const { return reinterpret_cast<const int64_t*>(offset_bytes.data()); }
  int64_t row_count(int64_t list) const { return offsets()[list + 1] - offsets()[list]; }
  bool is_empty(int64_t list) const { return row_count(list) == 0; }
  const int32_t* rows() const { return reinterpret_cast<const int32_t*>(row_bytes.data()); }
  const uint8_t* codes() const { return reinterpret_cast<const uint8_t*>(code_bytes.data()); }
  const float* code_scales() const {
    return reinterpret_cast<const float*>(code_scale_bytes.data());
  }
  const float* codebooks() const { return reinterpret_cast<const float*>(codebook_bytes.data()); }
  const int8_t* axes() const { return reinterpret_cast<const int8_t*>(axis_bytes.data()); }
  const float* axis_scales() const {
    return reinterpret_cast<const float*>(axis_scale_bytes.data());
  }

  // Writes the centroid as numbers, as many as the dimension.
  void DecodeCentroid(int64_t list, float* to) const;
};

// Bytes of all sections of a file of `shape`, and of those that say which lists there are and which
// rows these have: all but codes.
int64_t IvfFileBytes(const IvfShape& shape);
int64_t IvfListBytes(const IvfShape& shape);

enum class IvfSections { kAll, kLists };

// The file at `path`, copied to memory of our own, or of `sections` of it.  DataLoss
// (CONTENT_INVALID, or CHECKSUM_MISMATCH from reading) if it is none of `shape`, Unavailable if it
// cannot be read, ResourceExhausted if there is no room.
absl::StatusOr<IvfFile> LoadIvfFile(absl::string_view path, const IvfShape& shape,
                                    const CallContext& call,
                                    IvfSections sections = IvfSections::kAll);

// That of shard `shard` of `manifest`, below `directory`, for an index over `vectors`; of a shard
// without rows the shape alone.  Else as LoadIvfFile; InvalidArgument for vectors that are not the
// shard's.
absl::StatusOr<IvfFile> LoadIvfShard(absl::string_view directory,
                                     const bundle::v1::GenerationManifest& manifest, int shard,
                                     const VectorView& vectors, IvfSections sections,
                                     const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_FILE_H_
