// What a server remembers of its tries to hold a generation, and when the next one is due.
#ifndef SIGHTLINE_COMMON_GENERATIONS_ATTEMPT_H_
#define SIGHTLINE_COMMON_GENERATIONS_ATTEMPT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace sightline {

// The reason of a refusal, or else the name of its code.
std::string ReasonOf(const absl::Status& refusal);

// When a generation that was refused is worth another try.
enum class Retry {
  kNever,     // the same files would be refused again
  kWhenRoom,  // there was no room for it, which is quickly seen
  kLater,     // trouble of the machine, which may be over in a moment
};
Retry RetryOf(const absl::Status& refusal);

// Whether the same files are refused after a restart too, whatever the configuration then says.
bool OutlastsRestarts(const absl::Status& refusal);

// Trouble that has lasted this many tries is worth serving something older for.
inline constexpr int kTriesBeforeFallback = 3;

// Of one generation.  For one thread.
struct Attempt {
  std::string identity;    // of the files that were looked at last (refusals.h)
  std::string verified;    // identity of the files that were verified
  absl::Status refusal;    // of the last try
  std::string told;        // its reason, or that it is mended, when that was logged
  bool is_mended = false;  // what was damaged is being fetched anew
  bool was_ready = false;  // it has been served
  int put_offs = 0;        // tries since it was ready that were broken off for something else
  int failures = 0;        // in a row, of the kind kLater
  absl::Time retry_at = absl::InfinitePast();

  // What was refused is judged anew where files are others than those.
  void LookAt(std::string identity_now);

  void NoteReady();

  // The next try is due after 1, 2, 4 ... 60 s, where one can help.
  void NoteRefusal(const absl::Status& why, absl::Time now);

  // A request could not read a file of what had been ready since `ready_since`.  What has served
  // for long is tried again at once; what fails soon after each success ever more slowly.
  void NoteFailure(const absl::Status& why, absl::Time ready_since, absl::Time now);

  // How long a try may not be put off in favour of an index that serves nothing: twice as
  // long each time, so that whatever fails, and however often, a load comes to its end.
  absl::Duration Patience() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_ATTEMPT_H_
