// A small world for the tests of this folder: pictures and captions laid over shards,
// with an encoder and a cross-encoder that are functions of names, so that a referee can
// compute every ranking from all items.
#ifndef SIGHTLINE_TESTS_COMMON_RETRIEVAL_WORLD_H_
#define SIGHTLINE_TESTS_COMMON_RETRIEVAL_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/api/reranker.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/metrics/metrics.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/search_caches.h"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_clock.h"

namespace sightline {

inline constexpr int kDimension = 8;
inline constexpr char kSpace[] = "space-1";
inline constexpr char kCrossEncoder[] = "cross-encoder-1";
// The second reranker of both indexes, which declares add_lambda:0.5.
inline constexpr char kOtherReranker[] = "other";

// Numbers that depend on `name` alone, in [-1, 1].
std::vector<float> EmbeddingOf(absl::string_view name);
// A probability that depends on the two names alone, alike for both directions.
float MatchOf(absl::string_view text, absl::string_view image);

struct WorldOptions {
  int images = 40;
  int captions = 30;
  int shards = 3;
  RetrieverOptions retriever;
  ScoreKind score_kind = ScoreKind::kSoftmaxMatch;
  SearchCacheOptions caches;  // off
  // Of the item with that number.
  std::function<std::vector<std::string>(int item)> tags = [](int) {
    return std::vector<std::string>{"tag"};
  };
};

// Index "pictures" holds items "image-<n>", index "words" items "caption-<n>".  The
// embedding of an item is that of its id, the one of a text is that of the text, and the
// one of an uploaded image is that of its bytes (of its first tag, for regions).
class World {
 public:
  explicit World(const WorldOptions& options = {});

  CallContext Call(absl::Duration allowed = absl::Seconds(1)) {
    return CallContext(&clock, clock.Now() + allowed);
  }
  // The name behind one side of a pair.
  std::string NameOf(const RerankSide& side) const;
  FakeIndex& index_of(absl::string_view name) { return name == "words" ? words : pictures; }

  FakeClock clock;
  FakeIndex pictures;
  FakeIndex words;
  std::shared_ptr<FakeEncoder> encoder;
  std::shared_ptr<FakeReranker> reranker;
  FakeCatalog catalog;
  Backends backends;
  FixedShareBudget budget{BudgetShares{}};
  MetricsRegistry metrics;
  SearchCaches caches;
  Retriever retriever;
};

// All items of `index` that pass `filter` but `left_out`, scored directly, best first.
std::vector<Candidate> RankAll(const FakeIndex& index, absl::string_view query,
                               absl::string_view left_out = "", const TagFilter& filter = {});

// The list that a search must give: everything ranked, the first `depth` ordered by the
// combination, cut to `top_k`.  Written without the code under test.
std::vector<std::string> Referee(const FakeIndex& index, absl::string_view query, int top_k,
                                 int depth, const Combination& combination,
                                 const TagFilter& filter = {});

std::vector<std::string> Ids(const std::vector<Hit>& hits);
bool Has(const SearchResult& result, DegradedReason reason);

SearchRequest TextSearch(std::string text);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_RETRIEVAL_WORLD_H_
