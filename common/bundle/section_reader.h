// Reading a section from its beginning to its end in bounded memory, compared.
#ifndef SIGHTLINE_COMMON_BUNDLE_SECTION_READER_H_
#define SIGHTLINE_COMMON_BUNDLE_SECTION_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/container.h"

namespace sightline {

// Keeps the pieces that the last view lay in, so that each is read once where views go
// forward; they may go back.  Holds nothing before the first view.  For one thread.
class SectionReader {
 public:
  // Both outlive the reader.  `loaded`, unless it is null, is the section in memory.  `keep` is
  // the length of a piece and divides a MiB: less takes less memory where many sections are read
  // side by side, and each MiB is then read and compared once for each of its pieces.
  SectionReader(const Container& container, const Section& section, const SectionBytes* loaded,
                int64_t keep = Container::kBlockBytes)
      : container_(&container), section_(&section), loaded_(loaded), piece_(keep) {}

  // Bytes that the section must have; they live until the next call.  Errors as
  // Container::Read.
  absl::StatusOr<absl::string_view> View(int64_t begin, int64_t length);

 private:
  absl::Status ReadPiece(int64_t begin, int64_t length, char* to) const;

  const Container* container_;
  const Section* section_;
  const SectionBytes* loaded_;
  int64_t piece_;
  int64_t first_piece_ = 0;  // of the buffer
  std::string buffer_;       // whole pieces, the section's last one excepted
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SECTION_READER_H_
