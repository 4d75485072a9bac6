// Where variable-length values begin and end inside a section, as a file claims.
#ifndef SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_
#define SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/bundle/section_reader.h"

namespace sightline {

// A section of n + 1 int64 offsets: value i is [offset i, offset i + 1) of `limit` units.
// None of them is read here.  The container must outlive it.  A value.
class OffsetsSection {
 public:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t length() const { return end - begin; }
  };

  OffsetsSection() = default;

  // DataLoss unless section `name` holds `count` + 1 offsets.  What they say is not asked here:
  // each is checked when it is used.
  static absl::StatusOr<OffsetsSection> Find(const Container& container, absl::string_view name,
                                             int64_t count, int64_t limit);

  const Container& container() const { return *container_; }
  const Section& section() const { return *section_; }
  int64_t count() const { return count_; }
  int64_t limit() const { return limit_; }

  // The range of value `i` by the bytes of offsets i and i + 1.  DataLoss unless it runs
  // forward and lies inside of the limit.
  absl::StatusOr<Range> RangeAt(int64_t i, const char* offsets) const;

  absl::Status Lying(int64_t i, Range range) const;

 private:
  const Container* container_ = nullptr;
  const Section* section_ = nullptr;
  int64_t count_ = 0;
  int64_t limit_ = 0;
};

// Offsets in memory.  The container must outlive them.  Thread-safe.
class Offsets {
 public:
  using Range = OffsetsSection::Range;

  Offsets() = default;

  // Errors as OffsetsSection::Find and Container::Load.
  static absl::StatusOr<Offsets> Open(const Container& container, absl::string_view name,
                                      int64_t count, int64_t limit);
  static absl::StatusOr<Offsets> Load(const OffsetsSection& described);

  const Section& section() const { return described_.section(); }
  const SectionBytes& bytes() const { return bytes_; }

  // The range of value `i`, 0 <= i < count.  DataLoss unless it runs forward and lies
  // inside of the limit.
  absl::StatusOr<Range> At(int64_t i) const;

  // Reads all: DataLoss unless they begin at 0, never fall and end at the limit.
  absl::Status CheckAll(const CallContext& call) const;

 private:
  OffsetsSection described_;
  SectionBytes bytes_;
};

// Offsets that are read as they are asked for, in the memory that a SectionReader takes.  For
// one thread.
class OffsetReader {
 public:
  // `loaded` and `keep` as SectionReader has them.
  OffsetReader(const OffsetsSection& described, const SectionBytes* loaded,
               int64_t keep = Container::kBlockBytes)
      : described_(described), offsets_(described.container(), described.section(), loaded, keep) {}

  // As Offsets; errors of reading too.
  absl::StatusOr<OffsetsSection::Range> At(int64_t i);
  absl::Status CheckAll(const CallContext& call);

 private:
  OffsetsSection described_;
  SectionReader offsets_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_
