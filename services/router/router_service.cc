#include "services/router/router_service.h"

#include <utility>

#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/clients/convert_search.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr std::pair<DegradedReason, const char*> kDegradedReasons[] = {
    {DegradedReason::kShardsMissing, "shards_missing"},
    {DegradedReason::kDepthReduced, "depth_reduced"},
    {DegradedReason::kRerankerFailed, "reranker_failed"},
    {DegradedReason::kRerankerLate, "reranker_late"},
    {DegradedReason::kRecordsMissing, "records_missing"},
    {DegradedReason::kRecallReduced, "recall_reduced"},
};

constexpr std::pair<RerankOutcome, const char*> kRerankOutcomes[] = {
    {RerankOutcome::kNotRequested, "not_requested"},
    {RerankOutcome::kNotApplicable, "not_applicable"},
    {RerankOutcome::kNotByDefault, "not_by_default"},
    {RerankOutcome::kComplete, "complete"},
    {RerankOutcome::kPartial, "partial"},
    {RerankOutcome::kFailed, "failed"},
};

// What servers of this release say, and "other".
constexpr const char* kPrecisions[] = {"float32", "bfloat16", "int8", "other"};

constexpr const char* kEfforts[] = {"exact", "approximate", "reduced"};

const char* EffortName(const SearchEffort& effort) {
  if (effort.reduced) return kEfforts[2];
  return effort.exact ? kEfforts[0] : kEfforts[1];
}

Histogram StageHistogram(MetricsRegistry* metrics, const char* stage) {
  return metrics->AddHistogram("stage_seconds", "Time of one stage of a search.", LatencyBuckets(),
                               {{"stage", stage}});
}

}  // namespace

RouterService::RouterService(const Retriever* retriever, CallGate* calls, MetricsRegistry* metrics,
                             Clock* clock)
    : RpcService(v1::Search::service_full_name(), calls),
      retriever_(retriever),
      log_limiter_(clock, absl::Seconds(10)),
      encode_seconds_(StageHistogram(metrics, "encode")),
      search_seconds_(StageHistogram(metrics, "search")),
      rerank_seconds_(StageHistogram(metrics, "rerank")),
      fetch_seconds_(StageHistogram(metrics, "fetch")) {
  AddUnary("SearchItems", &RouterService::SearchItems, CallGate::Admission::kLimited,
           HandlerPlace::kFiber);
  AddUnary("ScorePairs", &RouterService::ScorePairs, CallGate::Admission::kLimited,
           HandlerPlace::kFiber);
  AddUnary("GetItems", &RouterService::GetItems, CallGate::Admission::kLimited,
           HandlerPlace::kFiber);
  const auto candidates = [metrics](const char* which) {
    return metrics->AddCounter("rerank_candidates_total",
                               "Candidates that requests wanted reranked, and those that were.",
                               {{"which", which}});
  };
  rerank_asked_ = candidates("asked");
  rerank_scored_ = candidates("scored");
  for (const auto& [reason, name] : kDegradedReasons) {
    degraded_[reason] = metrics->AddCounter(
        "degraded_answers_total", "Answers that were less than was asked.", {{"reason", name}});
  }
  for (const auto& [outcome, name] : kRerankOutcomes) {
    reranks_[outcome] =
        metrics->AddCounter("rerank_outcomes_total", "How reranking ended.", {{"outcome", name}});
  }
  for (const char* const effort : kEfforts) {
    for (const bool filtered : {false, true}) {
      searches_[{effort, filtered}] = metrics->AddCounter(
          "index_searches_total",
          "Searches of an index, by how hard it was looked into and whether among some items only.",
          {{"effort", effort}, {"filter", filtered ? "yes" : "no"}});
    }
  }
  for (const char* const precision : kPrecisions) {
    reranked_in_[precision] = metrics->AddCounter(
        "reranked_searches_total", "Searches with reranked hits, by what these were scored in.",
        {{"precision", precision}});
  }
}

absl::Status RouterService::SearchItems(v1::SearchItemsRequest request, const CallContext& call,
                                        v1::SearchItemsResponse* response) {
  ASSIGN_OR_RETURN(const SearchRequest wanted, FromProto(std::move(request)));
  ASSIGN_OR_RETURN(SearchResult result, retriever_->Search(wanted, call));
  Count(wanted, result);
  LogFailures(result.failures);
  ToProto(std::move(result), wanted.want_records, response);
  return absl::OkStatus();
}

absl::Status RouterService::ScorePairs(v1::ScorePairsRequest request, const CallContext& call,
                                       v1::ScorePairsResponse* response) {
  ASSIGN_OR_RETURN(const ScorePairsRequest wanted, FromProto(std::move(request)));
  ASSIGN_OR_RETURN(const ScorePairsResult result, retriever_->ScorePairs(wanted, call));
  ToProto(result, static_cast<int>(wanted.images.size()), response);
  return absl::OkStatus();
}

absl::Status RouterService::GetItems(v1::GetItemsRequest request, const CallContext& call,
                                     v1::GetItemsResponse* response) {
  ASSIGN_OR_RETURN(const GetItemsRequest wanted, FromProto(request));
  ASSIGN_OR_RETURN(GetItemsResult result, retriever_->GetItems(wanted, call));
  LogFailures(result.failures);
  ToProto(std::move(result), response);
  return absl::OkStatus();
}

void RouterService::LogFailures(const std::vector<absl::Status>& failures) {
  for (const absl::Status& failure : failures) {
    int64_t suppressed = 0;
    if (!log_limiter_.Allow(StatusCodeName(failure.code()), &suppressed)) continue;
    Log(Severity::kWarning, "answer degraded", {{"error", failure}, {"suppressed", suppressed}});
  }
}

void RouterService::Count(const SearchRequest& request, const SearchResult& result) {
  if (result.achieved_depth > 0) {
    const auto known = reranked_in_.find(result.reranker_precision);
    (known != reranked_in_.end() ? known->second : reranked_in_.at("other")).Increment();
  }
  for (const DegradedReason reason : result.degraded) degraded_.at(reason).Increment();
  reranks_.at(result.rerank).Increment();
  if (result.from_cache) return;  // it went through no stage
  searches_.at({EffortName(result.effort), !request.filter.empty()}).Increment();
  // Later pages go on with a list, however deep that was reranked: they want nothing by themselves.
  const bool first_page = request.page_token.empty();
  if (first_page &&
      (result.rerank == RerankOutcome::kComplete || result.rerank == RerankOutcome::kPartial ||
       result.rerank == RerankOutcome::kFailed)) {
    // An index that has fewer was asked for those.
    const bool complete = result.rerank == RerankOutcome::kComplete;
    rerank_asked_.Increment(complete ? result.achieved_depth : result.requested_depth);
    rerank_scored_.Increment(result.achieved_depth);
  }
  encode_seconds_.Observe(result.times.encode);
  search_seconds_.Observe(result.times.search);
  rerank_seconds_.Observe(result.times.rerank);
  fetch_seconds_.Observe(result.times.fetch);
}

}  // namespace sightline
