// What CURRENT of each index asks for, as far as it is to be believed.
//
// The sequence of CURRENT grows with each publication.  One that is behind what was seen
// before is an old one that a network file system still shows, or that of a store that was
// restored from a backup.  It is believed once it has stood unchanged for `restored_after`;
// until then what was seen before is asked for.
#ifndef SIGHTLINE_COMMON_GENERATIONS_CURRENT_VIEW_H_
#define SIGHTLINE_COMMON_GENERATIONS_CURRENT_VIEW_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/generations/generation_source.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What is asked for of an index.
struct WantedGeneration {
  bundle::v1::CurrentGeneration current;
  absl::Time since;  // when its generation was first asked for
};

// Thread-safe.
class CurrentView {
 public:
  // `source` fills the folder `store`; both it and `clock` outlive the view.  `call` ends what is
  // asked of it.
  CurrentView(std::string store, GenerationSource* source, absl::Duration restored_after,
              Clock* clock, CallContext call);

  // Reads CURRENT of the index; one that cannot be brought up to date is read as it was.  Logs once
  // what is the matter with it, and once when that is over.  Does nothing once the call has ended.
  void Look(const std::string& index);

  // As of the last look; none if CURRENT could not be read then, or was not there.
  absl::optional<WantedGeneration> Get(const std::string& index) const;

  // The same, and it is not IsRolledBack any more.
  absl::optional<WantedGeneration> Take(const std::string& index);

  // Whether what is asked for was published by going back to it, and has not been taken yet.
  bool IsRolledBack(const std::string& index) const;

  // Of every index that was looked at.
  std::vector<IndexStatus> Describe() const;

  // The sequence that is asked for; 0 if none ever was, -1 if CURRENT is there and could not
  // be read, or not be brought up to date.
  int64_t Sequence(const std::string& index) const;

 private:
  struct Row {
    absl::Status status;   // of the last look
    absl::Status trouble;  // the same, or why that was a look at an old CURRENT
    std::string told;      // what was logged last of it
    absl::optional<WantedGeneration> wanted;
    bool taken = false;
    // One that is behind `wanted`, since when; the generation is empty if there is none.
    WantedGeneration behind;
  };

  static void NoteStatus(const std::string& index, Row* row);
  bool IsToBeBelieved(const std::string& index, const bundle::v1::CurrentGeneration& current,
                      Row* row) const REQUIRES(mutex_);
  const Row* Find(const std::string& index) const REQUIRES(mutex_);

  const std::string store_;
  GenerationSource* const source_;
  const absl::Duration restored_after_;
  Clock* const clock_;
  const CallContext call_;
  mutable Mutex mutex_;
  std::map<std::string, Row> rows_ GUARDED_BY(mutex_);
};

// The sequence of `generation`, which is held and had `sequence` so far, in the history that
// `current` tells: 0 if it does not know it and could not have forgotten it, so that it is of
// another history.
int64_t SequenceIn(const bundle::v1::CurrentGeneration& current, const std::string& generation,
                   int64_t sequence);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_CURRENT_VIEW_H_
