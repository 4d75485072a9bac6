// Names of the files that `trainer prepare` writes and others read, beside vocab.txt.
#ifndef SIGHTLINE_SERVICES_TRAINER_PREPARED_FOLDER_H_
#define SIGHTLINE_SERVICES_TRAINER_PREPARED_FOLDER_H_

#include "absl/strings/string_view.h"

namespace sightline {

inline constexpr absl::string_view kSkippedFile = "skipped.jsonl";
inline constexpr absl::string_view kItemsFile = "items.jsonl";
inline constexpr absl::string_view kTrainingSetFile = "cache.container";

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_PREPARED_FOLDER_H_
