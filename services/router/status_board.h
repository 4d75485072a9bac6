// What the router has last heard from its backends, and what follows from it: which
// generation of each index new requests are pinned to.
//
// A backend that stops answering keeps its last word: its replicas and the other shards
// go on, and the request itself finds out who is there.
#ifndef SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
#define SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clients/server_status.h"
#include "common/retrieval/generation_catalog.h"
#include "services/router/router_config.h"

namespace sightline {

// Thread-safe.
class StatusBoard : public GenerationCatalog {
 public:
  explicit StatusBoard(const RouterConfig& config);

  // What `address` answered to the last poll, or why it did not.
  void Report(const std::string& address, const absl::StatusOr<ServerStatus>& status);

  absl::StatusOr<std::shared_ptr<const GenerationInfo>> Pin(absl::string_view index) const override;
  std::vector<std::shared_ptr<const GenerationInfo>> Known() const override;

  // Whether every configured index has a generation, and whether any has.
  bool all_known() const;
  bool any_known() const;

  // For Admin.GetStatus: the pinned generations and every backend.
  ServerStatus Describe() const;

 private:
  struct Backend {
    std::string service;
    std::vector<std::string> shards;  // "indexes/<index>/shards/<n>"
    ServerStatus last;
    bool reachable = false;
    std::string error = "not asked yet";
  };

  void Refresh();
  std::shared_ptr<const GenerationInfo> Choose(const std::string& index,
                                               const std::vector<Addresses>& shards) const;
  void AddRerankDefaults(GenerationInfo* info) const;

  const std::map<std::string, std::vector<Addresses>> indexes_;
  mutable std::mutex mutex_;
  std::map<std::string, Backend> backends_;                              // guarded by mutex_
  std::map<std::string, std::shared_ptr<const GenerationInfo>> pinned_;  // guarded by mutex_
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
