// Pictures that are there twice.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_DUPLICATE_FINDER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_DUPLICATE_FINDER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/record_sorter.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/scanned_picture.h"

namespace sightline {

// Memory does not grow with the corpus.  Temporary files lie in `directory`.
class DuplicateFinder {
 public:
  explicit DuplicateFinder(absl::string_view directory)
      : directory_(directory), by_content_(directory) {}

  // In the order of ids.
  absl::Status Add(const ScannedPicture& picture);

  // Once, after all were added: a warning for each picture that has the same bytes as one
  // before it, in the order of ids.  Such pictures are kept: they may have other captions.
  // Returns how many there are.
  absl::StatusOr<int64_t> AddTo(Warnings& warnings);

 private:
  const std::string directory_;
  RecordSorter by_content_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_DUPLICATE_FINDER_H_
