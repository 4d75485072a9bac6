// The grants that one index has out: which servers have been told that they may let the
// pinned generation go, and might still do so.
#ifndef SIGHTLINE_SERVICES_ROUTER_RELEASE_GRANTS_H_
#define SIGHTLINE_SERVICES_ROUTER_RELEASE_GRANTS_H_

#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "services/router/pinning.h"

namespace sightline {

// What servers have said is always a little old.  Whoever was granted a release may have
// made use of it since, so by what it said alone the next one could be granted the same,
// and nobody would be left.
class ReleaseGrants {
 public:
  // `answer_time`: how long after a request its answer may come.
  explicit ReleaseGrants(absl::Duration answer_time = absl::ZeroDuration())
      : answer_time_(answer_time) {}

  // Whether the request that goes to `address` now says that it may let `pinned` go:
  // MayRelease, and no other live replica of a set that it belongs to has a grant out.  A
  // grant is out from the first request that has it until the server has answered twice to
  // requests without it; its state then shows what it has made of it.
  bool Grant(const IndexView& index, const std::string& pinned, const std::string& address,
             absl::Time now);

  // `address` has answered.
  void NoteAnswer(const std::string& address, absl::Time now);

  // These are the servers now.  The grant of one that has left is out for kMayReturn after it
  // was last given: a name service may have lost it for a moment only.
  void ForgetOthers(const std::set<std::string>& addresses, absl::Time now);
  static constexpr absl::Duration kMayReturn = absl::Minutes(1);

 private:
  struct Outstanding {
    absl::Time sent;  // last
    int answers = 0;  // to requests after that
  };

  absl::Duration answer_time_;
  std::map<std::string, Outstanding> grants_;  // by address
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_RELEASE_GRANTS_H_
