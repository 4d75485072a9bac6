// Refused generations, remembered over restarts, so that a bad one is not read again and
// again.  A refusal holds for an identity: whatever would make another try worth while
// (the manifest, the files, the program) is part of it.
#ifndef SIGHTLINE_COMMON_GENERATIONS_REFUSALS_H_
#define SIGHTLINE_COMMON_GENERATIONS_REFUSALS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Where files of the refused generations lie, and what they looked like: SHA-256 over the
// program's own file, `manifest_path` and `files` (path, size, modification time, inode).
std::string RefusalIdentity(const std::string& manifest_path,
                            const std::vector<std::string>& files);

// For one thread.
class Refusals {
 public:
  // Keeps them in `<state_dir>/refused`, one file each; with an empty `state_dir` nothing
  // is remembered.
  explicit Refusals(absl::string_view state_dir);

  // OK if there is none for this identity, else what was remembered: code, reason and
  // message.
  absl::Status Find(absl::string_view index, absl::string_view generation,
                    absl::string_view identity) const;

  // Errors of the file system; the refusal then holds until the process ends.
  absl::Status Remember(absl::string_view index, absl::string_view generation,
                        absl::string_view identity, const absl::Status& refusal);

  void Forget(absl::string_view index, absl::string_view generation);

 private:
  std::string PathOf(absl::string_view index, absl::string_view generation) const;

  const std::string directory_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_REFUSALS_H_
