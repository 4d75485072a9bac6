// Request number n of a scenario.
//
//   ASSIGN_OR_RETURN(const Workload workload, Workload::Load(scenario, ids_of_index));
//   PlannedRequest next = workload.Make(n);
#ifndef SIGHTLINE_LOADTEST_SCENARIO_WORKLOAD_H_
#define SIGHTLINE_LOADTEST_SCENARIO_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/api/search.h"
#include "loadtest/scenario/query_source.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

struct PlannedRequest {
  SearchRequest request;
  absl::Duration deadline;  // after it was sent
  int kind = 0;             // index into Workload::kinds()
  int64_t question = 0;     // of its entry's, in the order in which they are asked
  // One among the hits is right; empty: nothing is known.  As valid as the workload.
  absl::Span<const std::string> known_items;
};

// Of each entry that measures recall, so many questions are compared with their exact answers.
inline constexpr int64_t kMaxExactQuestions = 500;
// An exact answer may take as long as the router lets a call take.
inline constexpr absl::Duration kExactDeadline = absl::Minutes(1);

// Immutable: any number of threads may make requests, in any order.  Equal scenarios and
// queries make equal requests.
class Workload {
 public:
  // Ids of items of an index of the fleet, for entries that name no file of items.
  using ListItems = std::function<absl::StatusOr<std::vector<std::string>>(const std::string&)>;

  // Reads what the mix names.  The errors of LoadQueries and of `list_items`, which is
  // called only if an entry needs it.
  static absl::StatusOr<Workload> Load(const Scenario& scenario, const ListItems& list_items);

  // `queries`: those of each entry of the mix, as LoadQueries gives them.  InvalidArgument
  // unless there is one list, not empty, for each entry, and one entry at least, whose
  // weights are positive and whose lists of values are not empty.
  static absl::StatusOr<Workload> Create(const Scenario& scenario,
                                         std::vector<std::vector<SourceQuery>> queries);

  // `number` is not negative.  Entry, hits and depth are drawn by weight; queries of an entry
  // come in turn: none comes again before as many numbers have passed as there are queries.
  PlannedRequest Make(int64_t number) const;

  // What asks for exact answers to the first questions of each entry that measures recall: as many
  // hits as it compares, with the entry's filter and an effort beyond all.  None of the others.
  std::vector<PlannedRequest> ExactQuestions() const;

  // Names of the mix's entries, in its order.
  const std::vector<std::string>& kinds() const { return kinds_; }

 private:
  struct Weighted {
    std::vector<double> cumulative;  // ascending; the last is 1
    std::vector<int> values;
    int Choose(double uniform) const;
  };
  struct Entry {
    MixEntry spec;
    Weighted top_k;
    Weighted depth;
    std::vector<SourceQuery> queries;
  };

  Workload() = default;
  // All but top_k and depth, which are drawn.
  PlannedRequest Ask(int kind, int64_t question) const;
  static absl::StatusOr<Weighted> MakeWeighted(const std::vector<WeightedInt>& values,
                                               absl::string_view what);

  uint64_t seed_ = 0;
  Weighted entry_;
  // Shared, so that copies of a workload keep pictures once and known_items in place.
  std::shared_ptr<const std::vector<Entry>> entries_;
  std::vector<std::string> kinds_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCENARIO_WORKLOAD_H_
