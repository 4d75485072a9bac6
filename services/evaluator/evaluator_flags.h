// Flags that several subcommands share, and what becomes of them.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_EVALUATOR_FLAGS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_EVALUATOR_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/usable_cores.h"
#include "common/config/command_line.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/query.h"
#include "services/evaluator/live_ranker.h"

namespace sightline {

// What is evaluated.
struct StoreFlags {
  EvaluationStoreOptions options;
  std::string precision = "float32";  // of all models
  std::string direction = "both";
  std::string captions = "first";  // which ask
  int threads = UsableCores();

  void Define(Flags* flags);
  // For commands in which not the fleet says what is computed in.
  void DefinePrecision(Flags* flags, absl::string_view help);
  // For commands whose captions may all ask.
  void DefineCaptions(Flags* flags);
  // InvalidArgument without --store, or with an unknown direction, precision or choice of captions.
  absl::Status Check() const;
  bool every_caption() const;
  // With the rule that follows from which captions ask; in float32.
  EvaluationStoreOptions StoreOptions() const;
  std::vector<Direction> Directions() const;
};

// Which fleet is asked, and how.
struct FleetFlags {
  std::string router;
  int parallel = 4;
  absl::Duration timeout = absl::Seconds(30);
  std::string recall;  // as given; empty: not
  absl::optional<int> effort;

  void Define(Flags* flags, absl::string_view router_help);
  // InvalidArgument for a recall that is none, or both.
  absl::Status Check() const;
  LiveRankerOptions RankerOptions(const EvaluationStore& store) const;
};

// "10,20,50": whole numbers from `min` to `max`, none twice.  InvalidArgument names the
// flag otherwise.
absl::StatusOr<std::vector<int>> ParseNumbers(absl::string_view flag, const std::string& text,
                                              int min, int max);
// "0.1,0.5": lambdas from 0 to 1, none twice.
absl::StatusOr<std::vector<float>> ParseLambdas(absl::string_view flag, const std::string& text);

// Libraries kept single-threaded, the pool that takes their place, and the store.
struct OpenedStore {
  std::unique_ptr<ComputePool> pool;
  std::unique_ptr<EvaluationStore> store;
};
absl::StatusOr<OpenedStore> OpenStore(const StoreFlags& flags, const CallContext& call);

// The errors of WriteFileAtomically; nothing without a path.
absl::Status WriteIfAsked(const std::string& path, const std::string& text);
// Before hours of work: the error of a file whose folder is not there or takes none.
absl::Status CheckCanWrite(const std::string& path);
// The same for all names of a file.
std::string PathOf(const std::string& file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_EVALUATOR_FLAGS_H_
