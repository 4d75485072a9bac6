// The container: one file, many typed sections, mapped and never trusted.
//
// Layout (little-endian), format version 1:
//
//   offset 0     magic "SIGHTLN1" (8 bytes), u32 format version, u32 section count,
//                u64 length of the section table, u64 length of the file,
//                u32 CRC32C of the section table, u32 CRC32C of these 36 bytes
//   then         the section table, one entry after another:
//                u16 name length, name, u32 dtype, u32 rank, u64 shape[rank],
//                u64 row stride in bytes, u64 offset, u64 length,
//                u32 checksum count, u32 CRC32C of each MiB of the section
//   then         sections, each starting at a multiple of 4 KiB; a row of a section of
//                rank 2 starts at a multiple of 64 bytes when the writer asks for
//                padded rows, and the gap is zero
//
// Sections lie in the order of the table, the gaps between them are zero and the file
// ends with the last one: every byte of the file means something or is known to be zero.
// Unknown sections are ignored, those of an unknown dtype too.  Opening maps the file and
// checks every number of the header against the file's length; Verify reads the data and
// compares checksums.
//
// The first 40 bytes mean the same in all format versions, so that a reader can tell a
// newer file from a broken one.
#ifndef SIGHTLINE_COMMON_BUNDLE_CONTAINER_H_
#define SIGHTLINE_COMMON_BUNDLE_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/base/files.h"

namespace sightline {

// A description of a section and where its data lies.
struct Section {
  std::string name;  // [A-Za-z0-9._/-]+, at most 200 bytes
  Dtype dtype = Dtype::kBytes;
  std::vector<int64_t> shape;    // rank 1 or 2
  int64_t row_stride_bytes = 0;  // distance of two rows (rank 2), or of two elements
  int64_t offset = 0;
  int64_t length = 0;  // bytes
  std::vector<uint32_t> checksums;
  const char* data = nullptr;  // into the mapping
};

// Immutable, thread-safe.
class Container {
 public:
  // DataLoss: not a container, truncated, any number that does not fit the file, or a
  // checksum of the header that differs (CHECKSUM_MISMATCH).  FailedPrecondition: a newer
  // format (NEWER_FORMAT).  NotFound, and so on, from opening.
  static absl::StatusOr<std::unique_ptr<Container>> Open(absl::string_view path);

  // The same over bytes in memory that outlive the container (tests, fuzzers).  Sections
  // are then aligned only as far as `bytes` is.
  static absl::StatusOr<std::unique_ptr<Container>> FromBytes(absl::string_view bytes);

  const std::vector<Section>& sections() const { return sections_; }
  // Null if there is none.
  const Section* Find(absl::string_view name) const;
  // DataLoss, naming the section, unless it exists with this dtype and rank.
  absl::StatusOr<const Section*> Require(absl::string_view name, Dtype dtype, int rank) const;

  // Reads the whole file and compares each MiB's CRC32C.  DataLoss (CHECKSUM_MISMATCH) names
  // section and offset of the first difference.  Stops early when `call` ends.
  absl::Status Verify(const CallContext& call = CallContext::Unbounded()) const;

  // The same of `length` bytes of `section` from `begin` on: of each MiB that holds one.
  absl::Status VerifyRange(const Section& section, int64_t begin, int64_t length) const;

  int64_t file_length() const { return static_cast<int64_t>(bytes_.size()); }

  // What the file is called in error messages.
  const std::string& path() const { return path_; }

 private:
  Container() = default;
  absl::Status Parse();
  absl::Status VerifyBlock(const Section& section, size_t block) const;

  std::unique_ptr<MappedFile> file_;  // null over bytes in memory
  std::string path_;
  absl::string_view bytes_;
  std::vector<Section> sections_;
};

// Writes a container to a temporary file beside `path`; Finish syncs and renames it.
// Dropped without Finish, nothing remains.  Not thread-safe.
class ContainerWriter {
 public:
  static absl::StatusOr<std::unique_ptr<ContainerWriter>> Create(absl::string_view path);
  ~ContainerWriter();

  // Declares a section; all must be declared before the first Append.  `padded_rows`
  // aligns each row of a rank-2 section to 64 bytes.  InvalidArgument: a name that is
  // taken or malformed, a rank or shape that the format does not hold.
  absl::Status Declare(absl::string_view name, Dtype dtype, std::vector<int64_t> shape,
                       bool padded_rows = false);

  // Adds data to the declared sections in order: whole rows (rank 2) or any number of
  // elements (rank 1), unpadded, of one section at a time.  Equal calls give equal files.
  absl::Status Append(absl::string_view bytes);

  // Total length and SHA-256 of the file, for the manifest.
  struct Summary {
    int64_t byte_count = 0;
    std::string sha256;
  };
  // FailedPrecondition while data of a declared section is missing.
  absl::StatusOr<Summary> Finish();

 private:
  ContainerWriter();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_CONTAINER_H_
