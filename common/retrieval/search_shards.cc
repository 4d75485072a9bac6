#include "common/retrieval/search_shards.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/api/clients.h"
#include "common/base/clock.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/retrieval/stage_calls.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

// Of searches, those that may ask a shard again.
constexpr double kAskedAgain = 0.001;

// Fewer rows than that part are worth to be asked for: many shards are left then, so that one which
// is down leaves no less than is wanted.
constexpr int kWorthwhile = 4;

// Of all shards, rows whose items are worth to come with them: of more it is cheaper to ask for
// those that are among the best.
constexpr int64_t kMostWithItems = 128;

// OK, or why the list of the one query cannot be merged: an unordered list would spoil the others',
// so it counts as no answer.
absl::Status CheckAnswer(absl::StatusOr<SearchShardResponse>& answer, absl::string_view name,
                         int shard) {
  if (!answer.ok()) return WithPrefix(answer.status(), name);
  if (answer->candidates.size() != 1) {
    return absl::InternalError(
        absl::StrCat(name, ": answered ", answer->candidates.size(), " lists to one query"));
  }
  std::vector<Candidate>& list = answer->candidates.front();
  for (Candidate& candidate : list) {
    candidate.shard = shard;
    if (!std::isfinite(candidate.score)) {
      return absl::InternalError(
          absl::StrCat(name, ": the score of '", candidate.item_id, "' is not finite"));
    }
  }
  if (!std::is_sorted(list.begin(), list.end(), RanksBefore)) {
    return absl::InternalError(absl::StrCat(name, ": the candidates are not in order"));
  }
  return absl::OkStatus();
}

// The rows of two lists of one shard, each once.
std::vector<Candidate> Union(std::vector<Candidate> a, std::vector<Candidate> b) {
  const size_t most = a.size() + b.size();
  std::vector<std::vector<Candidate>> lists;
  lists.push_back(std::move(a));
  lists.push_back(std::move(b));
  std::vector<Candidate> all = MergeTopK(std::move(lists), static_cast<int>(most));
  absl::flat_hash_set<int64_t> seen;
  const auto again = [&seen](const Candidate& candidate) {
    return !seen.insert(candidate.row).second;
  };
  all.erase(std::remove_if(all.begin(), all.end(), again), all.end());
  return all;
}

// One search of all shards.
class ShardSearch {
 public:
  ShardSearch(const PinnedIndex& index, const ShardQuery& query, absl::Time planned,
              absl::Time latest, const CallContext& call)
      : index_(index),
        query_(query),
        top_k_(query.top_k),
        planned_(planned),
        latest_(latest),
        clock_(*call.clock()),
        calls_(call, latest),
        shards_(index.info->shard_count) {}

  // OK, or the INVALID_ARGUMENT of a shard.
  absl::Status Run() {
    const int first = RowsToAskFor(top_k_, static_cast<int>(shards_.size()));
    want_items_ =
        query_.want_items && first * static_cast<int64_t>(shards_.size()) <= kMostWithItems;
    for (size_t shard = 0; shard < shards_.size(); ++shard) Ask(static_cast<int>(shard), first);
    RETURN_IF_ERROR(Collect());
    // There is no more time: who is silent makes the answer degraded, not who has answered.
    if (first == top_k_ || calls_.under_way() > 0) return absl::OkStatus();
    for (const int shard : ThoseWithMore()) Ask(shard, top_k_);
    return Collect();
  }

  ShardAnswers Answers() && {
    ShardAnswers answers;
    std::vector<std::vector<Candidate>> lists;
    for (size_t shard = 0; shard < shards_.size(); ++shard) {
      Shard& of = shards_[shard];
      lists.push_back(std::move(of.list));
      if (of.matched.has_value()) {
        // Sums of lies stay lies, and do not wrap.
        if (__builtin_add_overflow(answers.matched, *of.matched, &answers.matched)) {
          answers.matched = std::numeric_limits<int64_t>::max();
        }
        answers.effort = LesserEffort(answers.effort, of.effort);
      }
      if (of.status.ok()) {
        ++answers.answered;
      } else {
        answers.unreachable.push_back(Name(static_cast<int>(shard)));
        answers.failures.push_back(std::move(of.status));
      }
    }
    answers.best = MergeTopK(std::move(lists), top_k_);
    answers.items = std::move(items_);
    return answers;
  }

  // Whether there are rows of any shard.
  bool any() const { return any_; }

 private:
  struct Shard {
    absl::Status status;  // of what it was asked last
    int asked = 0;        // rows
    // Of all its answers; no number of items while there is none.
    std::vector<Candidate> list;
    absl::optional<int64_t> matched;
    SearchEffort effort;
  };

  std::string Name(int shard) const { return ShardName(index_.ref().index, shard); }

  void Ask(int shard, int rows) {
    Shard& of = shards_[shard];
    of.status = Unanswered(Name(shard));
    of.asked = rows;
    SearchShardRequest request;
    request.target = index_.ref();
    request.shard = shard;
    request.queries = query_.embedding;
    request.top_k = rows;
    request.filter = query_.filter;
    request.effort = query_.effort;
    if (query_.lower_effort) request.budget = SearchBudget(clock_.Now(), planned_);
    request.want_items = want_items_;
    request.wanted_by = planned_;
    index_.shard(shard)->SearchShard(calls_.context(), std::move(request), calls_.Slot(shard));
  }

  absl::Status Collect() {
    while (auto answer = calls_.Next(any_ ? planned_ : latest_)) {
      Shard& of = shards_[answer->slot];
      of.status = CheckAnswer(answer->value, Name(answer->slot), answer->slot);
      if (absl::IsInvalidArgument(of.status)) return of.status;
      if (!of.status.ok()) continue;
      SearchShardResponse& response = *answer->value;
      TakeItems(answer->slot, response);
      of.list = Union(std::move(of.list), std::move(response.candidates.front()));
      of.matched = response.matched_count;
      of.effort = LesserEffort(of.effort, response.effort);
      any_ = true;
    }
    return absl::OkStatus();
  }

  void TakeItems(int shard, SearchShardResponse& response) {
    if (response.items.empty()) return;
    for (StoredItem& item : response.items.front()) {
      const int64_t row = item.row;
      items_.emplace(std::make_pair(shard, row), std::move(item));
    }
  }

  // Shards with as many rows as they were asked for, and none that is too bad.
  std::vector<int> ThoseWithMore() const {
    std::vector<const Candidate*> all;
    for (const Shard& of : shards_) {
      for (const Candidate& candidate : of.list) all.push_back(&candidate);
    }
    const Candidate* worst = nullptr;  // of the best top_k_
    if (all.size() >= static_cast<size_t>(top_k_)) {
      const auto last = all.begin() + (top_k_ - 1);
      std::nth_element(all.begin(), last, all.end(),
                       [](const Candidate* a, const Candidate* b) { return RanksBefore(*a, *b); });
      worst = *last;
    }
    std::vector<int> more;
    for (size_t shard = 0; shard < shards_.size(); ++shard) {
      const Shard& of = shards_[shard];
      if (!of.status.ok() || of.list.size() < static_cast<size_t>(of.asked)) continue;
      if (worst == nullptr || RanksBefore(of.list.back(), *worst)) {
        more.push_back(static_cast<int>(shard));
      }
    }
    return more;
  }

  const PinnedIndex& index_;
  const ShardQuery& query_;
  const int top_k_;
  const absl::Time planned_, latest_;
  Clock& clock_;
  StageCalls<SearchShardResponse> calls_;
  std::vector<Shard> shards_;
  ItemsByPlace items_;
  bool want_items_ = false;
  bool any_ = false;
};

}  // namespace

// Of the best k a shard of n has as many as k draws with probability 1 / n.  By Bernstein's
// inequality these are mean + t or more with probability exp(-t^2 / (2 mean + 2 t / 3)) at most
// (Boucheron, Lugosi and Massart, "Concentration Inequalities", 2013, section 2.8); t is that for
// which this is kAskedAgain / n, so that all shards together stay below kAskedAgain.
int RowsToAskFor(int top_k, int shard_count) {
  if (shard_count <= 1) return top_k;
  const double mean = static_cast<double>(top_k) / shard_count;
  const double l = std::log(shard_count / kAskedAgain);
  const double t = l / 3 + std::sqrt(l * l / 9 + 2 * mean * l);
  const int rows = static_cast<int>(std::ceil(mean + t));
  return rows <= top_k / kWorthwhile ? rows : top_k;
}

absl::Duration SearchBudget(absl::Time now, absl::Time planned) {
  if (planned == absl::InfiniteFuture()) return absl::InfiniteDuration();
  const absl::Duration left = planned - now;
  return std::max(left - std::clamp(left / 10, absl::Milliseconds(1), absl::Milliseconds(10)),
                  absl::ZeroDuration());
}

SearchEffort LesserEffort(const SearchEffort& a, const SearchEffort& b) {
  const auto rank = [](const SearchEffort& of) {
    return std::make_tuple(of.exact, of.recall, of.effort);
  };
  SearchEffort lesser = rank(b) < rank(a) ? b : a;
  lesser.reduced = a.reduced || b.reduced;
  return lesser;
}

absl::StatusOr<ShardAnswers> SearchShards(const PinnedIndex& index, const ShardQuery& query,
                                          absl::Time planned, absl::Time latest,
                                          const CallContext& call) {
  ShardSearch search(index, query, planned, latest, call);
  RETURN_IF_ERROR(search.Run());
  if (call.cancelled()) return call.Check("search");
  const bool any = search.any();
  ShardAnswers answers = std::move(search).Answers();
  if (!any) return NoShardAnswered(index.ref().index, answers.failures);
  return answers;
}

}  // namespace sightline
