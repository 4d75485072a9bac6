// The lines of a text file that was published, plain or gzipped.
#ifndef SIGHTLINE_COMMON_DATASET_TEXT_LINES_H_
#define SIGHTLINE_COMMON_DATASET_TEXT_LINES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Immutable.  Lines end in "\n" or "\r\n", the last one perhaps in neither; an empty line is
// one, but no line follows the last end.
class TextLines {
 public:
  // InvalidArgument, naming the file: damaged gzip, more than kMaxTextFileBytes of text, more
  // than kMaxTextLines; ResourceExhausted for a longer file; otherwise as the disk reports.
  static absl::StatusOr<TextLines> Read(const std::string& path);

  size_t size() const { return lines_.size(); }
  absl::string_view operator[](size_t i) const { return lines_[i]; }

 private:
  // On the heap: lines_ points into it.
  std::unique_ptr<const std::string> text_;
  std::vector<absl::string_view> lines_;
};

inline constexpr size_t kMaxTextFileBytes = size_t{256} << 20;
inline constexpr size_t kMaxTextLines = 10'000'000;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_TEXT_LINES_H_
