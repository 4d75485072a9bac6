// A whole fleet on free ports over a tiny store: router, encoder, reranker and one
// index_search for each shard (or several), to be asked, taken apart and put together
// again.
#ifndef SIGHTLINE_TESTS_INTEGRATION_FLEET_H_
#define SIGHTLINE_TESTS_INTEGRATION_FLEET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/api/search.h"
#include "common/clients/search_client.h"
#include "tests/integration/member.h"
#include "tests/support/tiny_store.h"

namespace sightline {

// A member and how to make it again.
struct Slot {
  std::string service;
  std::string yaml;  // names the port from the first start on
  std::unique_ptr<Member> member;

  std::string address() const;
};

struct FleetOptions {
  int shard_replicas = 1;
  int encoder_replicas = 1;
  int reranker_replicas = 1;
  // Models compute one item or pair a forward pass.
  bool deterministic = false;
  // Models are held against the reference to 1e-5; another one, or "fastest", is not.
  std::string precision = "float32";
  // Of each reranker, in place of that: as many as `reranker_replicas`, or none.
  std::vector<std::string> reranker_precisions;
  // Further lines of every backend's configuration, and of every index_search's.
  std::string backend_yaml;
  std::string shard_yaml;
  // Addresses in place of the reranker's own, e.g. of a slow one.
  std::vector<std::string> reranker_addresses;
  // Whether the router keeps what it has computed; without, every question goes to all servers.
  bool caches = false;
  // Further lines of the router's configuration.
  std::string router_yaml;
};

// Not thread-safe, but for the clients.
class Fleet {
 public:
  // Returns when the router is SERVING.
  Fleet(const TinyStore& store, const Launch& launch, const FleetOptions& options = {});

  const TinyStore& store() const { return store_; }
  SearchClient& search() { return *search_; }

  Slot& encoder(int replica = 0) { return encoders_[replica]; }
  Slot& reranker(int replica = 0) { return rerankers_[replica]; }
  Slot& shard(int shard, int replica = 0) { return shards_[shard][replica]; }
  Slot& router() { return router_; }
  std::vector<Slot*> all();

  // Starts a killed member again, on its old port, and returns when it is SERVING.
  void Restart(Slot* slot);

  // Asks, with two seconds to answer.
  absl::StatusOr<SearchResult> Search(const SearchRequest& request,
                                      absl::Duration timeout = absl::Seconds(2));
  absl::StatusOr<SearchResult> SearchText(const std::string& text);

  // Asks until an answer is whole: a text, reranked, over all shards.  Returns how long
  // that took.  Throws after half a minute.
  absl::Duration AwaitWhole();

 private:
  void Start(Slot* slot);
  // Starts one with each configuration and returns their addresses.
  std::vector<std::string> StartReplicas(std::vector<Slot>* slots, const std::string& service,
                                         const std::vector<std::string>& yamls);

  const TinyStore& store_;
  const Launch launch_;
  Slot router_;
  std::vector<Slot> encoders_, rerankers_;
  std::vector<std::vector<Slot>> shards_;
  std::unique_ptr<SearchClient> search_;
};

// Blocks until the server there reports SERVING (grpc.health.v1 Watch).  Throws after
// half a minute.
void AwaitServing(const std::string& address);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_FLEET_H_
