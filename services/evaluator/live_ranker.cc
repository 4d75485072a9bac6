#include "services/evaluator/live_ranker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

bool IsWorthRepeating(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status);
}

// Whether the answer is all that was asked, of the generation that was meant.
absl::Status CheckAnswer(const SearchResult& result, const SearchRequest& request,
                         const GenerationRef& expected) {
  if (result.target.index != expected.index || result.target.generation != expected.generation) {
    return absl::FailedPreconditionError(
        absl::StrCat("the fleet serves ", result.target.index, "/", result.target.generation,
                     ", the store's ", "CURRENT is ", expected.index, "/", expected.generation,
                     "; restart the one or publish the ", "other"));
  }
  if (!result.degraded.empty()) {
    absl::string_view why = "the fleet said that its answer is degraded";
    return absl::UnavailableError(
        result.failures.empty() ? why : absl::StrCat(why, ": ", result.failures[0].ToString()));
  }
  if (request.depth.value_or(0) > 0 && result.rerank != RerankOutcome::kComplete) {
    return absl::FailedPreconditionError(
        absl::StrCat("the fleet does not rerank '", expected.index, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rankings> LiveRanker::Rank(const RankRequest& request, const CallContext& call) {
  const GenerationRef& expected =
      request.direction == Direction::kTextToImage ? options_.images : options_.captions;
  const size_t methods = request.methods.size();
  const size_t count = request.queries.size() * methods;
  Rankings rankings(request.queries.size(), std::vector<std::vector<Hit>>(methods));
  std::vector<absl::Status> statuses(count);
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      const EvaluationQuery& query = request.queries[i / methods];
      auto hits = Ask(RequestFor(request, query, request.methods[i % methods]), expected, call);
      if (hits.ok()) {
        rankings[i / methods][i % methods] = *std::move(hits);
      } else {
        statuses[i] = Within(absl::StrCat("query '", query.item_id, "'"), hits.status());
        failed = true;
      }
    }
  };
  std::vector<std::thread> askers;
  for (int i = 1; i < options_.parallel; ++i) askers.emplace_back(work);
  work();
  for (std::thread& asker : askers) asker.join();
  for (absl::Status& status : statuses) RETURN_IF_ERROR(std::move(status));
  return rankings;
}

SearchRequest LiveRanker::RequestFor(const RankRequest& request, const EvaluationQuery& query,
                                     const Method& method) const {
  SearchRequest search;
  if (request.direction == Direction::kTextToImage) {
    search.index = options_.images.index;
    search.reranker = options_.image_reranker;
    search.query = TextQuery{query.text};
  } else {
    search.index = options_.captions.index;
    search.reranker = options_.caption_reranker;
    search.query = ItemQuery{options_.images.index, query.item_id};
  }
  search.top_k = request.list_length;
  search.depth = method.depth;
  if (method.depth > 0) search.combination = method.combination;
  search.want_records = false;
  return search;
}

absl::StatusOr<std::vector<Hit>> LiveRanker::Ask(const SearchRequest& search,
                                                 const GenerationRef& expected,
                                                 const CallContext& call) const {
  absl::Status status;
  for (int attempt = 0; attempt < options_.attempts; ++attempt) {
    RETURN_IF_ERROR(call.Check("evaluation"));
    const CallContext once = call.WithDeadline(call.clock()->Now() + options_.timeout);
    absl::StatusOr<SearchResult> result = client_->SearchItems(once, search);
    status = result.ok() ? CheckAnswer(*result, search, expected) : result.status();
    if (status.ok()) return std::move(result->hits);
    if (!IsWorthRepeating(status)) break;
  }
  return status;
}

}  // namespace sightline
