// Which generation of an index new requests go to, and which server may do without the one
// that they go to now.  Pure functions of what servers say.
#ifndef SIGHTLINE_SERVICES_ROUTER_PINNING_H_
#define SIGHTLINE_SERVICES_ROUTER_PINNING_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// A replica as one set of one index sees it.
struct ReplicaView {
  std::string address;
  bool live = false;              // has answered a poll lately
  std::set<std::string> ready;    // generations of which it holds what the set is for
  std::set<std::string> no_room;  // that it would load if one in use had not the memory
  bool draining = false;          // is about to end
};

// The replicas of one shard, of the encoder or of the reranker, in the order of the
// configuration.
struct SetView {
  std::vector<ReplicaView> replicas;
};

struct GenerationView {
  int64_t sequence = 0;  // reported_sequences.h
  bool reranked = false;
};

struct IndexView {
  std::vector<SetView> shards;
  SetView encoders;
  SetView rerankers;  // empty: none are configured
  std::map<std::string, GenerationView> generations;
};

// Whether every set that has live replicas has one that holds `generation`.  Rerankers
// count if the generation has a cross-encoder and there are any.
bool HeldWhole(const IndexView& index, const std::string& generation);

// What no live replica holds of `generation`, for people: "shard 1, the reranker".  Empty if live
// servers hold all of it that the index has servers for.  Stricter than HeldWhole, where a set
// without live replicas does not stand in the way.
std::string NotHeld(const IndexView& index, const std::string& generation);

// The sets that have replicas, but none that is live.
int CountSilentSets(const IndexView& index);

// Whether a `ready_share` of the live replicas of each set, and at least one, hold their part
// of `generation`.  A set without live replicas does not stand in the way.
bool Qualifies(const IndexView& index, const std::string& generation, double ready_share);

// The generation that new requests go to, given the one they went to before ("" at first);
// "" if there is none.
//
// - The newest that qualifies, if it is newer than `pinned`.
// - Otherwise `pinned`, while it is held whole.
// - Otherwise the newest that is held whole.
// - Otherwise, of what a shard holds, one that an encoder holds (without it nothing is
//   answered), of these what most shards hold, of these one that a reranker holds, of these
//   the newest; or `pinned` if no shard holds any.
std::string ChooseGeneration(const IndexView& index, const std::string& pinned, double ready_share);

// Whether the server at `address` may let `pinned` go, to make room for a newer generation:
// it refuses one for want of room, and in each set that it belongs to
// - every other live replica holds `pinned` or the newer one,
// - one of them, at least, holds `pinned`,
// - no replica before it wants room for any.
// One at a time is without, as far as `index` is up to date; what has been granted since is
// for release_grants.h.
bool MayRelease(const IndexView& index, const std::string& pinned, absl::string_view address);

// Whether `other` is live in a set that `address` belongs to.
bool IsLiveBeside(const IndexView& index, absl::string_view other, absl::string_view address);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_PINNING_H_
