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
#include "absl/types/optional.h"
#include "common/base/compute_pool.h"
#include "common/embedding/score.h"
#include "common/evaluation/protocol.h"

namespace sightline {

inline constexpr int64_t kMaxReportBytes = int64_t{1} << 26;

struct EarlierMethod {
  std::string name;
  int64_t depth = 0;
  bool declared = false;
  std::vector<int> ranks;  // as many as queries
};

// Of one direction and split, as they are named in the file.
struct EarlierResults {
  std::string direction;
  std::string split;
  std::string queries_sha256;
  int64_t query_count = 0;
  int64_t pool_size = 0;
  std::vector<EarlierMethod> methods;  // no two of one name and depth
};

struct EarlierReport {
  std::string captions;  // which ask: "first", "all"
  std::string language;
  int list_length = 0;
  std::vector<EarlierResults> results;  // no two of one direction and split
};

// InvalidArgument, naming the key, for what is no such report, or one of another format version,
// such as those from before ranks were kept.
absl::StatusOr<EarlierReport> ParseEarlierReport(absl::string_view text);

// What `spec` asks of `pool_size` items, as it was asked then.  FailedPrecondition where other
// queries were asked, of another pool or by another rule, or none of its direction and split.
absl::StatusOr<const EarlierResults*> FindEarlier(const EarlierReport& earlier,
                                                  const MeasureSpec& spec, int64_t pool_size,
                                                  absl::string_view captions,
                                                  absl::string_view language);

// Sets `over_earlier` of the results of `measurement`, which `spec` has asked for: over the method
// of the same name and depth then, and of the one that is `declared` also over the one that was
// declared then, where that is another.
void HoldAgainst(const EarlierResults& earlier, const MeasureSpec& spec,
                 const absl::optional<DeclaredCombination>& declared, ComputePool* pool,
                 Measurement* measurement);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_EARLIER_REPORT_H_
