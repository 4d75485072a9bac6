// Where variable-length values begin and end inside a section, as a file claims.
#ifndef SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_
#define SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"

namespace sightline {

// A section of n + 1 int64 offsets: value i is [offset i, offset i + 1) of `limit` units.
// They lie in memory; the container must outlive them.  Thread-safe.
class Offsets {
 public:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t length() const { return end - begin; }
  };

  Offsets() = default;

  // DataLoss unless section `name` holds `count` + 1 offsets; otherwise as Container::Load.
  // What the offsets say is not asked here: each is checked when it is used.
  static absl::StatusOr<Offsets> Open(const Container& container, absl::string_view name,
                                      int64_t count, int64_t limit);

  const Section& section() const { return *section_; }

  // The range of value `i`, 0 <= i < count.  DataLoss unless it runs forward and lies
  // inside of the limit.
  absl::StatusOr<Range> At(int64_t i) const;

  // Reads all: DataLoss unless they begin at 0, never fall and end at the limit.
  absl::Status CheckAll(const CallContext& call) const;

 private:
  int64_t Value(int64_t i) const;
  absl::Status Lying(int64_t i) const;

  const Section* section_ = nullptr;
  SectionBytes bytes_;
  std::string file_;
  int64_t count_ = 0;
  int64_t limit_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_OFFSETS_H_
