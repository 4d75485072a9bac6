// What a worker has noted for those that wait for it.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TALLY_NOTES_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TALLY_NOTES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {

// How often; of a job of several workers.
inline int64_t NotesOf(const WorkFolder& folder, int worker) {
  const std::string line = *ReadFile(folder.File(absl::StrCat("tally.", worker)));
  return line.empty() ? 0 : std::stoll(line.substr(line.find(' ')));
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TALLY_NOTES_H_
