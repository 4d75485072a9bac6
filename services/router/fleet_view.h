// What backends have last said, in the form in which it is asked for: a view of each index
// for pinning.h, and a roster of each replica set.  Kept up to date entry by entry, so that
// an answer which says nothing new costs the same in a fleet of ten and of ten thousand.
#ifndef SIGHTLINE_SERVICES_ROUTER_FLEET_VIEW_H_
#define SIGHTLINE_SERVICES_ROUTER_FLEET_VIEW_H_

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/generation.h"
#include "common/api/server_status.h"
#include "common/replicas/roster.h"
#include "services/router/backend_word.h"
#include "services/router/membership.h"
#include "services/router/pinning.h"
#include "services/router/reported_sequences.h"

namespace sightline {

// Not thread-safe.
class FleetView {
 public:
  // Polls missed in a row after which a backend counts as silent.
  static constexpr int kSilentAfter = 2;

  // A backend is dead that has not answered for `dead_after`.
  // `restored_after` is that of reported_sequences.h.
  FleetView(const Membership& members, absl::Duration dead_after, absl::Duration restored_after,
            absl::Time now);
  FleetView(const FleetView&) = delete;
  FleetView& operator=(const FleetView&) = delete;

  // From now on there are these backends, of the same indexes.  Those that were there
  // already keep what they said; others count as heard of now.
  void SetMembers(const Membership& members, absl::Time now);

  // What `address` answered at `at`, or why it did not; whoever is no member is left out.
  // One that does not answer keeps its last word.  One that is another server than it should
  // be, ours or not, has none: the one that spoke before is not there any more.
  void Note(const std::string& address, const absl::StatusOr<ServerStatus>& answer, absl::Time at);

  // Finds out who is dead by now.
  void NoteTime(absl::Time now);

  // As of Settle, as far as sequences go.
  const IndexView& index(const std::string& name) const { return indexes_.at(name).view; }

  // Settles which sequence of each generation counts, by what those say that are there now:
  // the word of the dead tells nothing of the store as it is.  Forgets generations that are in
  // nobody's last word, `pinned` aside.  Returns when another sequence may count although
  // nothing else is said; in the infinite future, if never.
  absl::Time Settle(const std::string& name, const std::string& pinned, absl::Time now);

  // Whether `index(name)` or `AllAsked(name)` may be others than when this was last asked.
  bool TakeChanged(const std::string& name);

  // Calls `visit(set, roster)` for each set whose roster has changed since the last time.
  template <typename Visit>
  void TakeChangedRosters(const Visit& visit) {
    for (Set& set : sets_) {
      if (!set.changed) continue;
      set.changed = false;
      visit(set.id, RosterOf(set));
    }
  }

  // Whether each shard and the encoder has backends, and all of the index's have answered or
  // failed once.
  bool AllAsked(const std::string& name) const;

  // Whether `address` wants room for a generation of the index, and in each set that it
  // belongs to nobody live before it does: without that it need not be asked whether it may
  // release one.
  bool WantsRoomFirst(const std::string& address, const std::string& name) const;

  // What index_search servers say of the generation, with the rerankers that rerankers say it
  // has: how scores combine is declared by the cross-encoders' bundles, which index_search
  // does not read.  The last word of either kind, whoever said it.  Null if no index_search
  // has held it, or it is forgotten.
  std::unique_ptr<GenerationInfo> Info(const std::string& name,
                                       const std::string& generation) const;

  // All backends, by address.
  std::vector<BackendStatus> Describe() const;

 private:
  struct Seat {
    size_t set;
    size_t place;  // in it
  };

  struct Backend {
    std::string service;
    std::vector<Seat> seats;
    // Its last word: what it holds, and what it computes its models in.
    std::vector<GenerationStatus> generations;
    ModelPrecisions precisions;
    absl::Time heard;  // when it last answered; when added, at first
    bool live = true;
    int missed = 0;         // polls since then
    bool asked = false;     // has answered or failed
    bool draining = false;  // by its last word
    bool reachable = false;
    std::string error = "not asked yet";
  };

  struct Set {
    ReplicaSetId id;
    std::shared_ptr<const Addresses> addresses;
    std::vector<Backend*> members;  // of backends_, at addresses
    bool changed = true;            // the roster
  };

  // What has been said of a generation, by whomever.
  struct Sayings {
    absl::optional<GenerationInfo> searched;              // by an index_search
    absl::optional<std::vector<RerankerInfo>> rerankers;  // by a reranker
  };

  struct Index {
    explicit Index(absl::Duration restored_after) : sequences(restored_after) {}

    IndexView view;
    std::map<std::string, Sayings> sayings;  // by generation
    ReportedSequences sequences;
    bool changed = true;
  };

  void AddSet(ReplicaSetId id, const char* service, const Addresses& addresses, absl::Time now,
              std::unordered_map<std::string, Backend>* before,
              const std::vector<std::shared_ptr<const Addresses>>& lists);
  void NoteGenerations(const Backend& backend);
  // Brings the backend's entries in the views up to date.
  void Show(const Backend& backend);
  void ShowLive(const Backend& backend);
  void MarkIndexes(const Backend& backend);
  void MarkRosters(const Backend& backend);
  // What its last poll failed with, or what it refuses.
  static std::string ErrorOf(const Backend& backend);
  Roster RosterOf(const Set& set) const;

  const absl::Duration dead_after_;
  const absl::Duration restored_after_;
  std::unordered_map<std::string, Backend> backends_;  // by address
  std::vector<Set> sets_;
  std::map<std::string, Index> indexes_;
  absl::Time nobody_dies_before_ = absl::InfinitePast();
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_FLEET_VIEW_H_
