// Files of texts that say the same as each other, to learn words from that no picture of a
// corpus shows.
//
//   {"texts": ["wombat", "burrowing Australian marsupials", "marsupial, mammal, animal"]}
//
// is a line: one concept.  Other keys are passed over.
#ifndef SIGHTLINE_SERVICES_TRAINER_TEXT_LIST_H_
#define SIGHTLINE_SERVICES_TRAINER_TEXT_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

inline constexpr size_t kMaxTextsPerConcept = 64;

// The concepts in the order of the file's lines, each text as a caption is cleaned.
// InvalidArgument, naming the line: no JSON, or not 2 to 64 texts, or one that is empty or
// longer than a caption may be.
absl::StatusOr<std::vector<std::vector<std::string>>> ParseTextList(absl::string_view lines);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_TEXT_LIST_H_
