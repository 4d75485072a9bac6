// The container: one file, many typed sections, never trusted.
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
// Unknown sections are ignored, those of an unknown dtype too.  Opening reads the header
// and the table and checks every number in them against the file's length; the data is read
// when it is asked for, and compared with its checksums then.
//
// The first 40 bytes mean the same in all format versions, so that a reader can tell a
// newer file from a broken one.
#ifndef SIGHTLINE_COMMON_BUNDLE_CONTAINER_H_
#define SIGHTLINE_COMMON_BUNDLE_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/resident_memory.h"

namespace sightline {

// What a container begins with.
inline constexpr absl::string_view kContainerMagic = "SIGHTLN1";

// A description of a section and where its data lies.
struct Section {
  std::string name;  // [A-Za-z0-9._/-]+, at most 200 bytes
  Dtype dtype = Dtype::kBytes;
  std::vector<int64_t> shape;    // rank 1 or 2
  int64_t row_stride_bytes = 0;  // distance of two rows (rank 2), or of two elements
  int64_t offset = 0;
  int64_t length = 0;  // bytes
  std::vector<uint32_t> checksums;
  const char* data = nullptr;  // where a container's bytes lie in memory (Map, FromBytes)
};

// The bytes of a section in memory: a copy of our own, or in place where the container is in
// memory.  A value; copies share the bytes.
class SectionBytes {
 public:
  SectionBytes() = default;
  explicit SectionBytes(absl::string_view in_place) : view_(in_place) {}
  explicit SectionBytes(std::shared_ptr<const ResidentMemory> own)
      : own_(std::move(own)), view_(own_->data(), static_cast<size_t>(own_->size())) {}

  const char* data() const { return view_.data(); }
  absl::string_view view() const { return view_; }

 private:
  std::shared_ptr<const ResidentMemory> own_;
  absl::string_view view_;
};

// Immutable, thread-safe.
//
// Reading compares what it reads with the checksums of the MiBs that hold it.  A difference
// is looked at again, past what the system keeps in memory; only when it is there again it
// is damage: DataLoss (CHECKSUM_MISMATCH), which names section and place.  A file that
// cannot be read is Unavailable (READ_FAILED), and may be well in a moment.
class Container {
 public:
  // What one checksum covers; a section's last block may be shorter.
  static constexpr int64_t kBlockBytes = int64_t{1} << 20;

  // DataLoss: not a container, truncated, any number that does not fit the file, or a
  // checksum of the header that differs (CHECKSUM_MISMATCH).  FailedPrecondition: a newer
  // format (NEWER_FORMAT).  NotFound, and so on, from opening.
  static absl::StatusOr<std::unique_ptr<Container>> Open(absl::string_view path);

  // The same, with the file mapped, so that sections lie in memory.  For jobs and tools: a
  // block that cannot be read, or a file that is cut short, ends the process (files.h).
  static absl::StatusOr<std::unique_ptr<Container>> Map(absl::string_view path);

  // The same over bytes in memory that outlive the container (tests, fuzzers).  Sections
  // are then aligned only as far as `bytes` is.
  static absl::StatusOr<std::unique_ptr<Container>> FromBytes(absl::string_view bytes);

  const std::vector<Section>& sections() const { return sections_; }
  // Null if there is none.
  const Section* Find(absl::string_view name) const;
  // DataLoss, naming the section, unless it exists with this dtype and rank.
  absl::StatusOr<const Section*> Require(absl::string_view name, Dtype dtype, int rank) const;

  // Reads the whole file and compares it, but for the sections `read`, which the caller has
  // compared; gaps must be zero.  Stops early when `call` ends.
  absl::Status Verify(const CallContext& call = CallContext::Unbounded(),
                      absl::Span<const Section* const> read = {}) const;

  // The same of `length` bytes of `section` from `begin` on: of each MiB that holds one.
  absl::Status VerifyRange(const Section& section, int64_t begin, int64_t length) const;

  // Copies `length` bytes of `section` from `begin` on, which it must have.  Read compares
  // all MiBs that hold one of them; ReadUnchecked compares nothing and ReadAgain neither,
  // and reads past what the system keeps in memory: for values with checksums of their own.
  absl::Status Read(const Section& section, int64_t begin, int64_t length, char* to) const;
  absl::Status ReadUnchecked(const Section& section, int64_t begin, int64_t length, char* to) const;
  absl::Status ReadAgain(const Section& section, int64_t begin, int64_t length, char* to) const;

  // As RandomAccessFile::ReadCached, which compares nothing, and WillNeed, of bytes of `section`.
  bool ReadCached(const Section& section, int64_t begin, int64_t length, char* to) const;
  void WillNeed(const Section& section, int64_t begin, int64_t length) const;

  // `count` blocks of `section` from the `first` on, compared.
  absl::Status ReadBlocks(const Section& section, int64_t first, int64_t count, char* to) const;

  // All of `section`, compared while it is copied to memory of our own; what the system kept
  // of it is let go.  In place, and not compared, in a container that is in memory.
  // ResourceExhausted if there is no room.
  absl::StatusOr<SectionBytes> Load(const Section& section, const CallContext& call) const;

  int64_t file_length() const { return length_; }

  // What the file is called in error messages.
  const std::string& path() const { return path_; }

 private:
  Container() = default;
  absl::Status Parse();
  absl::StatusOr<std::string> ReadStart();
  absl::Status ReadAt(int64_t offset, int64_t length, char* to) const;
  absl::Status CheckGap(int64_t begin, const Section& before) const;
  absl::Status ReadBlock(const Section& section, int64_t block, char* to) const;
  absl::Status CheckBlock(const Section& section, int64_t block, absl::string_view bytes) const;

  std::unique_ptr<RandomAccessFile> file_;  // null where the bytes are in memory
  std::unique_ptr<MappedFile> mapped_;
  std::string path_;
  absl::string_view bytes_;  // where they are in memory
  int64_t length_ = 0;
  int64_t data_begin_ = 0;  // behind the section table
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
