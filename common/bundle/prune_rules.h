// Which generations a store may lose, whatever kind of store it is.  prune.h removes those of a
// folder.
#ifndef SIGHTLINE_COMMON_BUNDLE_PRUNE_RULES_H_
#define SIGHTLINE_COMMON_BUNDLE_PRUNE_RULES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct PruneOptions {
  // Published generations that stay, CURRENT's among them; those that were rolled back do
  // not count.  At least 1.
  int keep = 3;
  // How long any other one stays in its place after CURRENT has left it, rolled back or not: a
  // server that sees an old CURRENT, or starts again, still looks for it there.  And how long
  // it lies set aside before it is deleted.  Not negative.
  absl::Duration grace = absl::Hours(24);
  // What was never published is somebody's work in progress, or about to be published; it
  // goes when nothing in its folder has changed for this long.
  absl::Duration abandoned_after = absl::Hours(24);
  // Say what would go, and leave it.
  bool dry_run = false;
};

// A generation that is set aside.
struct SetAside {
  std::string generation;
  absl::Time delete_time;  // prunes from then on delete it
};

struct PruneSummary {
  std::vector<std::string> kept;       // generations that stay where they are, sorted
  std::vector<std::string> set_aside;  // by this prune, sorted
  std::vector<std::string> deleted;    // set aside by this prune or before, oldest first
  std::vector<SetAside> waiting;       // set aside, and not to be deleted yet, oldest first
  int64_t byte_count = 0;              // of the files that were deleted
  // Of what did not come to its end; the next prune goes on with it.
  std::vector<absl::Status> problems;
};

// InvalidArgument if an option is out of its range.
absl::Status CheckPruneOptions(const PruneOptions& options);

// Whether `duration` is over that began at `since`.  Of clocks that disagree neither a time to
// come nor one that is negative counts.
bool HasPassed(absl::Time since, absl::Duration duration, absl::Time now);

// Every generation that CURRENT remembers.
std::set<std::string> PublishedGenerations(const bundle::v1::CurrentGeneration& current);

// Those of them that stay.  `changed`: when CURRENT was written, at the latest, which is when a
// generation was left of which nobody noted it.
std::set<std::string> StayingGenerations(const bundle::v1::CurrentGeneration& current,
                                         absl::Time changed, const PruneOptions& options,
                                         absl::Time now);

// What was set aside has a name that tells when: "<unix seconds>-<generation>".
struct Aside {
  std::string name;
  std::string generation;
  absl::Time since;
};
std::string AsideName(absl::string_view generation, absl::Time now);
// None if it is no such name.
absl::optional<Aside> ParseAside(const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PRUNE_RULES_H_
