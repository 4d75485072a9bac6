// Who ranks: this process, or a fleet.
#ifndef SIGHTLINE_COMMON_EVALUATION_RANKER_H_
#define SIGHTLINE_COMMON_EVALUATION_RANKER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/evaluation/method.h"
#include "common/evaluation/query.h"

namespace sightline {

struct RankRequest {
  Direction direction = Direction::kTextToImage;
  absl::Span<const EvaluationQuery> queries;
  absl::Span<const Method> methods;
  int list_length = 50;  // hits wanted of each list, 1 to limits::kMaxHits
};

// Of each query and each method the best hits, best first, as SearchItems gives them:
// [query][method][hit].
using Rankings = std::vector<std::vector<std::vector<Hit>>>;

// Not thread-safe: one caller, which hands over many queries at once.
class Ranker {
 public:
  virtual ~Ranker() = default;

  // How many queries a call of Rank should have to be quick and small.
  virtual int batch_size() const = 0;

  // Fewer hits than wanted only where the index holds fewer.  An error, naming the query,
  // if one of the lists would be less than what was asked (a shard missing, a candidate
  // not scored): such numbers would lie.
  virtual absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext& call) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_RANKER_H_
