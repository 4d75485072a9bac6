#include "services/evaluator/compare_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/clients/router_address.h"
#include "common/clients/search_client.h"
#include "common/config/table.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/protocol.h"
#include "common/evaluation/store_ranker.h"
#include "common/log/progress.h"
#include "services/evaluator/evaluator_flags.h"

namespace sightline {
namespace {

struct CompareFlags {
  StoreFlags store;
  FleetFlags fleet;
  int64_t limit = 200;
  int depth = 50;

  void Define(Flags* flags) {
    store.Define(flags);
    fleet.router = DefaultRouter();
    fleet.Define(flags, kRouterHelp);
    flags->Int("limit", "queries of each direction, evenly spread; 0: all; default 200", 0, 1 << 30,
               &limit);
    flags->Int("depth", "candidates to rerank; default 50", 0, limits::kMaxHits, &depth);
  }
};

// Two lines, and a third if they differ.
std::string AgreementText(Direction direction, const Agreement& agreement) {
  std::string text = absl::StrCat(
      DirectionName(direction), ": ", WithThousands(agreement.lists), " queries, ",
      WithThousands(agreement.hits), " hits; ", agreement.equal_lists, " rankings equal, ",
      agreement.tied_lists, " equal but for ties, ", agreement.boundary_lists,
      " with a tie at the depth, ", agreement.differing_lists, " different\n");
  absl::StrAppendFormat(
      &text, "  largest difference: retrieval %.1e, rerank %.1e, combined %.1e; allowed %.1e\n",
      agreement.retrieval_difference, agreement.rerank_difference, agreement.combined_difference,
      kScoreTolerance);
  if (!agreement.agrees()) {
    absl::StrAppend(&text, "  first that differs: ", Printable(agreement.first_problem, 0), "\n");
  }
  return text;
}

absl::StatusOr<Agreement> CompareDirection(const CompareFlags& flags, const EvaluationStore& store,
                                           Direction direction, Ranker* live, Progress* progress,
                                           const CallContext& call) {
  const std::vector<EvaluationQuery> queries =
      Sample(store.relevance().Queries(direction), flags.limit);
  Method method;
  float grid = 0;
  // Also where the bundle declares that by default nothing is reranked: what asks for it is.
  if (const auto& reranker = store.reranker(direction); reranker.declared.has_value()) {
    method = {flags.depth, reranker.declared->combination};
    grid = GridOf(method.combination, reranker.model->cross_encoder()->score_kind());
  }
  StoreRanker expected(&store);
  progress->Begin(absl::StrCat("compare ", DirectionName(direction)), "queries",
                  static_cast<int64_t>(queries.size()));
  Agreement total;
  const auto batch_size = static_cast<size_t>(expected.batch_size());
  for (size_t begin = 0; begin < queries.size(); begin += batch_size) {
    const auto batch = absl::MakeConstSpan(queries).subspan(begin, batch_size);
    ASSIGN_OR_RETURN(
        const Agreement agreement,
        CompareRankers({direction, batch, {&method, 1}, kListLength}, grid, &expected, live, call));
    total.Add(agreement);
    progress->Advance(static_cast<int64_t>(batch.size()));
  }
  progress->End();
  return total;
}

}  // namespace

absl::StatusOr<Agreement> CompareRankers(const RankRequest& request, float grid, Ranker* expected,
                                         Ranker* actual, const CallContext& call) {
  ASSIGN_OR_RETURN(const Rankings expected_lists, expected->Rank(request, call));
  ASSIGN_OR_RETURN(const Rankings actual_lists, actual->Rank(request, call));
  Agreement total;
  for (size_t q = 0; q < request.queries.size(); ++q) {
    Agreement agreement = CompareHits(expected_lists[q][0], actual_lists[q][0], grid);
    if (!agreement.agrees()) {
      agreement.first_problem =
          absl::StrCat("query '", request.queries[q].item_id, "': ", agreement.first_problem);
    }
    total.Add(agreement);
  }
  return total;
}

int RunCompare(const std::vector<std::string>& args, const Console& console) {
  CompareFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kCompareCommand, &definitions, args, console, &words, &status)) return status;
  absl::Status usable = flags.store.Check();
  if (usable.ok() && !words.empty()) {
    usable = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (!usable.ok()) return UsageError(kCompareCommand, std::string(usable.message()), console);

  const CallContext call = CallContext::Unbounded();
  const absl::StatusOr<OpenedStore> opened = OpenStore(flags.store, call);
  if (!opened.ok()) return Fail(opened.status(), console);
  const std::unique_ptr<SearchClient> client = MakeGrpcSearchClient(flags.fleet.router);
  LiveRanker live(client.get(), flags.fleet.RankerOptions(*opened->store));
  Progress progress(Progress::OnStandardError(), Clock::Real());
  for (const Direction direction : flags.store.Directions()) {
    const absl::StatusOr<Agreement> agreement =
        CompareDirection(flags, *opened->store, direction, &live, &progress, call);
    if (!agreement.ok()) return Fail(agreement.status(), console);
    console.out << AgreementText(direction, *agreement);
    if (!agreement->agrees()) status = kFailure;
  }
  return status;
}

}  // namespace sightline
