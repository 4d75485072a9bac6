// The sequence that counts of each generation of an index: how new it is.
#ifndef SIGHTLINE_SERVICES_ROUTER_REPORTED_SEQUENCES_H_
#define SIGHTLINE_SERVICES_ROUTER_REPORTED_SEQUENCES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace sightline {

// The highest that was reported counts, also when its reporter has gone: somebody has seen that
// publication, and the others will.  It gives way to a lower one when nobody has reported more
// than that for `restored_after`: then the servers follow a store that was restored from a
// backup, and what is in it counts.  Not thread-safe.
class ReportedSequences {
 public:
  explicit ReportedSequences(absl::Duration restored_after) : restored_after_(restored_after) {}

  // `reported`: of each generation that servers which are there report, the highest of theirs.
  // For one that none of them reports, what counted before counts on, until it is forgotten.
  void Note(const std::map<std::string, int64_t>& reported, absl::Time now);

  void Forget(const std::string& generation);

  // 0 if it was never reported, or is forgotten.
  int64_t Of(const std::string& generation) const;

  // When a lower sequence will count, if the same is reported until then; in the infinite
  // future, if nothing lower is.
  absl::Time may_change_at() const;

 private:
  struct Lower {
    int64_t sequence = 0;
    absl::Time since;
  };

  absl::Duration restored_after_;
  std::map<std::string, int64_t> counting_;
  std::map<std::string, Lower> lower_;  // what is reported of those that count for more
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_REPORTED_SEQUENCES_H_
