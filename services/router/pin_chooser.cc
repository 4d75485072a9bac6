#include "services/router/pin_chooser.h"

namespace sightline {

std::string PinChooser::Choose(const IndexView& index, const std::string& pinned,
                               double ready_share, bool heard_enough, absl::Time now,
                               absl::Duration dead_after) {
  const int silent_before = silent_sets_;
  silent_sets_ = CountSilentSets(index);
  const bool one_is_back = silent_sets_ < silent_before && silent_sets_ > 0;
  if (one_is_back && now >= stay_until_) stay_until_ = now + dead_after;
  if (!pinned.empty() && silent_sets_ > 0 && now < stay_until_) return pinned;

  const std::string chosen = ChooseGeneration(index, provisional_ ? "" : pinned, ready_share);
  if (Qualifies(index, chosen, ready_share)) {
    provisional_ = provisional_ && !heard_enough;
  } else if (!HeldWhole(index, chosen)) {
    provisional_ = true;
  }
  return chosen;
}

}  // namespace sightline
