// Which generation an index is pinned to as time goes by: ChooseGeneration, and how far what
// the router knows is enough to believe it.
#ifndef SIGHTLINE_SERVICES_ROUTER_PIN_CHOOSER_H_
#define SIGHTLINE_SERVICES_ROUTER_PIN_CHOOSER_H_

#include <string>

#include "absl/time/time.h"
#include "services/router/pinning.h"

namespace sightline {

// A pin is provisional until a generation that qualifies is chosen while the router has heard
// enough, and again once nothing is whole.  A provisional pin binds nobody: it is chosen
// afresh each time, so that a newer generation of which a few servers hold something does not
// stay because the router met those first.
//
// When several sets have been silent and one of them is back, requests stay where they are
// until all are, for `dead_after` at most: most likely the router had lost the way to them,
// and those that are still missing hold what is pinned.
class PinChooser {
 public:
  // `pinned` is what requests go to now, "" if nothing.  `heard_enough`: whether all backends
  // have been asked, or waited for.
  std::string Choose(const IndexView& index, const std::string& pinned, double ready_share,
                     bool heard_enough, absl::Time now, absl::Duration dead_after);

  // When it may choose otherwise though nothing has been heard; in the past if never.
  absl::Time stays_until() const { return stay_until_; }

 private:
  bool provisional_ = true;
  int silent_sets_ = 0;
  absl::Time stay_until_ = absl::InfinitePast();
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_PIN_CHOOSER_H_
