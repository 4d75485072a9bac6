#include "common/retrieval/rerank_slices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/retrieval/stage_calls.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

constexpr char kReranker[] = "reranker";

bool RefusesAll(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

absl::Status CheckScores(const std::vector<float>& scores, size_t candidates) {
  if (scores.size() != candidates) {
    return absl::InternalError(absl::StrCat(kReranker, ": answered ", scores.size(), " scores to ",
                                            candidates, " candidates"));
  }
  for (const float score : scores) {
    if (!std::isfinite(score)) {
      return absl::InternalError(absl::StrCat(kReranker, ": a score is ", score));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPrecision(const std::string& computed, const Precision& wished) {
  if (!wished.has_value() || *wished == computed) return absl::OkStatus();
  return MakeError(reasons::kPrecisionChanged, absl::StrCat(kReranker, ": answered in '", computed,
                                                            "' beside '", *wished, "'"));
}

SliceResult Judge(absl::StatusOr<RerankResponse> answer, size_t candidates,
                  const Precision& wished) {
  SliceResult result;
  result.status = answer.ok() ? CheckScores(answer->scores, candidates)
                              : WithPrefix(answer.status(), kReranker);
  if (result.status.ok()) result.status = CheckPrecision(answer->precision, wished);
  if (result.status.ok()) {
    result.end = SliceEnd::kScored;
    result.response = *std::move(answer);
  } else {
    result.end = IsLate(result.status) ? SliceEnd::kLate : SliceEnd::kFailed;
  }
  return result;
}

struct Sent {
  absl::Time at;
  size_t candidates = 0;
};

}  // namespace

std::vector<SliceResult> RerankSlices(RerankerClient& reranker, int count, int parallelism,
                                      const std::function<RerankRequest(int slice)>& make,
                                      PrecisionWish wish, const CallContext& call,
                                      absl::Time deadline, RerankShare share) {
  std::vector<SliceResult> results(count);
  std::vector<Sent> sent(count);
  Clock* const clock = call.clock();
  StageCalls<RerankResponse> calls(call, deadline);
  absl::Duration quickest = absl::ZeroDuration();  // unknown
  bool refused = false;
  int next = 0;
  while (true) {
    while (next < count && calls.under_way() < parallelism && !refused && !call.cancelled() &&
           clock->Now() + quickest < calls.context().deadline()) {
      RerankRequest request = make(next);
      request.wish = wish;
      sent[next] = {clock->Now(), request.candidates.size()};
      results[next].end = SliceEnd::kLate;  // until it answers
      results[next].status = Unanswered(kReranker);
      share.Sent(static_cast<int>(sent[next].candidates), sent[next].at);
      reranker.RerankCandidates(calls.context(), std::move(request), calls.Slot(next));
      ++next;
    }
    auto answer = calls.Next();
    if (!answer.has_value()) break;
    const int slice = answer->slot;
    const int candidates = static_cast<int>(sent[slice].candidates);
    results[slice] = Judge(std::move(answer->value), sent[slice].candidates, wish.precision);
    refused = refused || RefusesAll(results[slice].status);
    if (results[slice].end != SliceEnd::kScored) {
      share.Lost(candidates);
      continue;
    }
    wish.precision = results[slice].response.precision;
    const absl::Time now = clock->Now();
    share.Answered(candidates, sent[slice].at, now);
    const absl::Duration took = now - sent[slice].at;
    quickest = quickest == absl::ZeroDuration() ? took : std::min(quickest, took);
  }
  for (int slice = next; slice < count; ++slice) {
    results[slice].status =
        refused ? absl::UnavailableError(absl::StrCat(kReranker, ": had refused already"))
                : absl::DeadlineExceededError(absl::StrCat(kReranker, ": no time left for it"));
  }
  return results;
}

}  // namespace sightline
