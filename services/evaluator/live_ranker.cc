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

absl::Status CheckPrecision(absl::string_view servers, const std::string& told,
                            const std::string& expected) {
  if (told.empty() || told == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the fleet's ", servers, " compute in ", expected, " and in ", told,
                   ", so that one answer is not like another; have all compute in one "
                   "(compute.precision), or ask a router of like ones"));
}

}  // namespace

absl::StatusOr<Rankings> LiveRanker::Rank(const RankRequest& request, const CallContext& call) {
  const size_t methods = request.methods.size();
  const size_t count = request.queries.size() * methods;
  Rankings rankings(request.queries.size(), std::vector<std::vector<Hit>>(methods));
  std::vector<absl::Status> statuses(count);
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      const EvaluationQuery& query = request.queries[i / methods];
      auto result =
          Ask(RequestFor(request, query, request.methods[i % methods]), request.direction, call);
      if (result.ok()) {
        rankings[i / methods][i % methods] = std::move(result->hits);
      } else {
        statuses[i] = Within(absl::StrCat("query '", query.item_id, "'"), result.status());
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

absl::Status LiveRanker::Precisions(const RankRequest& request, const CallContext& call,
                                    StorePrecisions* precisions) {
  const EvaluationQuery& query = request.queries.front();
  ASSIGN_OR_RETURN(
      const SearchResult result,
      Within(absl::StrCat("query '", query.item_id, "'"),
             Ask(RequestFor(request, query, request.methods.front()), request.direction, call)));
  if (!result.encoder_precision.empty()) precisions->encoder = result.encoder_precision;
  if (!result.reranker_precision.empty()) {
    precisions->reranker(request.direction) = result.reranker_precision;
  }
  return absl::OkStatus();
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
  search.effort = options_.effort;
  search.want_records = false;
  return search;
}

absl::Status LiveRanker::CheckPrecisions(const SearchResult& result, Direction direction) const {
  if (!options_.precisions.has_value()) return absl::OkStatus();
  StorePrecisions expected = *options_.precisions;
  RETURN_IF_ERROR(CheckPrecision("encoders", result.encoder_precision, expected.encoder));
  return CheckPrecision("rerankers", result.reranker_precision, expected.reranker(direction));
}

absl::StatusOr<SearchResult> LiveRanker::Ask(const SearchRequest& search, Direction direction,
                                             const CallContext& call) const {
  const GenerationRef& expected =
      direction == Direction::kTextToImage ? options_.images : options_.captions;
  absl::Status status;
  for (int attempt = 0; attempt < options_.attempts; ++attempt) {
    RETURN_IF_ERROR(call.Check("evaluation"));
    const CallContext once = call.WithDeadline(call.clock()->Now() + options_.timeout);
    absl::StatusOr<SearchResult> result = client_->SearchItems(once, search);
    status = result.ok() ? CheckAnswer(*result, search, expected) : result.status();
    if (status.ok()) status = CheckPrecisions(*result, direction);
    if (status.ok()) return result;
    if (!IsWorthRepeating(status)) break;
  }
  return status;
}

}  // namespace sightline
