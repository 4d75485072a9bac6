// What an earlier `measure --json` found, to hold another measurement of the same queries against:
// another model's, another generation's, a fleet's.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_EARLIER_REPORT_H_
#define SIGHTLINE_SERVICES_EVALUATOR_EARLIER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/evaluation/protocol.h"

namespace sightline {

inline constexpr int64_t kMaxReportBytes = int64_t{1} << 28;

struct EarlierMethod {
  std::string name;
  int64_t depth = 0;
  bool declared = false;
  std::vector<int> ranks;
};

// Of one direction and split, as they are named in the file.
struct EarlierResults {
  std::string direction;
  std::string split;
  std::string queries_sha256;
  std::vector<EarlierMethod> methods;  // with as many ranks each
};

// InvalidArgument, naming the key, for what is no such report, and for one from before ranks were
// kept.
absl::StatusOr<std::vector<EarlierResults>> ParseEarlierReport(absl::string_view text);

// Those of what `spec` asks.  FailedPrecondition where other queries were asked then, or none of
// its direction and split.
absl::StatusOr<const EarlierResults*> FindEarlier(absl::Span<const EarlierResults> earlier,
                                                  const MeasureSpec& spec);

// Sets `over_earlier` of the results of `measurement`, which `spec` has asked for, whose method was
// measured then, by name and depth; of the one that the model declares at a depth (`declared`),
// which may have been another then, it is over what was declared then.
void HoldAgainst(const EarlierResults& earlier, const MeasureSpec& spec,
                 const absl::optional<DeclaredCombination>& declared, ComputePool* pool,
                 Measurement* measurement);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_EARLIER_REPORT_H_
