// What Admin.GetStatus tells of a server, as plain structs: for the servers that answer
// it, the router that polls it and the tools that print it.
#ifndef SIGHTLINE_COMMON_API_SERVER_STATUS_H_
#define SIGHTLINE_COMMON_API_SERVER_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/generation.h"

namespace sightline {

enum class GenerationState { kLoading, kReady, kRefused };

// What a router tells a server when it asks for its status.
struct StatusRequest {
  // A generation that the router sends requests to.
  struct Use {
    GenerationRef generation;
    bool may_release = false;  // others hold what this server holds of it
  };
  std::string router;  // a name of its own for each router's life; empty: not a router
  std::vector<Use> uses;
};

// What the files of a generation are read for: to be brought from an object store, to be compared
// before another one has to go for it, or to be held.
enum class LoadStage { kFetching, kVerifying, kLoading };

struct LoadProgress {
  LoadStage stage = LoadStage::kLoading;
  int64_t read_bytes = 0;
  int64_t total_bytes = 0;  // at most; >= read_bytes
  absl::Duration elapsed;   // of the stage
};

// One generation on one server.
struct GenerationStatus {
  GenerationState state = GenerationState::kLoading;
  std::string reason;                     // why it was refused; of a router's, what no server holds
  bool needs_room = false;                // refused only because one in use has the memory
  int64_t sequence = 0;                   // of CURRENT when it named this generation
  GenerationInfo info;                    // of the whole generation; partly empty unless kReady
  std::vector<int> held_shards;           // ascending; none on a server that holds none
  absl::optional<LoadProgress> progress;  // while it is read, when kLoading
};

struct ModelStatus {
  std::string model;  // SHA-256 of the bundle
  std::string family;
  std::string space;  // empty for a pure cross-encoder
  std::string description;
  // That it computes in; empty for one that only prepares features.
  std::string precision;
  double agreement = 1;  // with float32
};

// A backend as a router sees it.
struct BackendStatus {
  std::string service;  // "query_encoder", "index_search" or "reranker"
  std::string address;
  bool reachable = false;
  std::string error;                // what the last poll failed with
  std::vector<std::string> shards;  // "indexes/<index>/shards/<number>"
};

// What a server has done on a device since it started.
struct DeviceWork {
  int64_t pass_count = 0;      // that did not fail
  int64_t recorded_count = 0;  // of these: whose launches had been recorded before
  absl::Duration took;         // all passes together, from when each was asked for
  absl::Duration waited;       // of that: for passes of others
  int64_t bytes_in = 0;        // copied to the device
  int64_t bytes_out = 0;       // and from it
};

// A GPU as a server that computes on it sees it.
struct DeviceStatus {
  int number = 0;            // in the machine
  std::string name;          // of its make; empty while nothing has been asked of it
  int64_t memory_bytes = 0;  // that it has
  int64_t held_bytes = 0;    // that the server's generations take
  DeviceWork work;
};

// What a server knows of an index's CURRENT.
struct IndexStatus {
  std::string index;
  std::string generation;  // that is asked for; empty if none ever was
  int64_t sequence = 0;    // of its publication
  std::string error;       // why CURRENT could not be read or brought up to date at the last look
};

// A cache of a router.
struct CacheStatus {
  std::string name;  // "embeddings", "scores" or "results"
  int64_t entries = 0;
  int64_t bytes = 0;
  int64_t max_bytes = 0;  // 0: it is off
  int64_t hits = 0;       // of scores, candidates
  int64_t shared = 0;     // answered together with an equal request that was under way
  int64_t misses = 0;
};

struct ServerStatus {
  std::string service;  // "router", "query_encoder", "index_search" or "reranker"
  std::vector<GenerationStatus> generations;
  std::vector<ModelStatus> models;
  std::vector<BackendStatus> backends;
  std::vector<IndexStatus> indexes;  // that it follows
  std::vector<CacheStatus> caches;
  std::vector<DeviceStatus> devices;  // that it computes on
  bool draining = false;              // it is about to end, but takes calls yet
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_SERVER_STATUS_H_
