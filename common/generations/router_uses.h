// Which generations the routers send requests to, as they told when they asked for the
// status: a lease that ends when a router stops naming a generation, or stops asking.
#ifndef SIGHTLINE_COMMON_GENERATIONS_ROUTER_USES_H_
#define SIGHTLINE_COMMON_GENERATIONS_ROUTER_USES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

struct GenerationUse {
  std::string index;
  std::string generation;
  bool may_release = false;  // the router can do without this server's
};

// Thread-safe.
class RouterUses {
 public:
  // A router that has not asked for `lease` is gone: several times the interval at which
  // routers ask.
  explicit RouterUses(absl::Duration lease) : lease_(lease) {}

  // What `router` uses from now on, in place of what it used before.
  void Note(absl::string_view router, std::vector<GenerationUse> uses, absl::Time now);

  // Whether there is any router, whatever it uses.
  bool AnyRouter(absl::Time now) const;

  // Whether any router uses it.
  bool InUse(absl::string_view index, absl::string_view generation, absl::Time now) const;

  // Whether some router uses it and every one that does can do without this server's.
  bool MayRelease(absl::string_view index, absl::string_view generation, absl::Time now) const;

 private:
  struct Told {
    std::vector<GenerationUse> uses;
    absl::Time when;
  };
  // Uses of that generation, of routers that are there.
  std::vector<GenerationUse> UsesOf(absl::string_view index, absl::string_view generation,
                                    absl::Time now) const REQUIRES(mutex_);

  const absl::Duration lease_;
  mutable Mutex mutex_;
  std::map<std::string, Told> routers_ GUARDED_BY(mutex_);
  // More routers than are noted.
  absl::Time crowded_until_ GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_ROUTER_USES_H_
