#include "services/evaluator/compare_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
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
  std::string differences;

  void Define(Flags* flags) {
    store.Define(flags);
    fleet.router = DefaultRouter();
    fleet.Define(flags, kRouterHelp);
    flags->Int("limit", "queries of each direction, evenly spread; 0: all; default 200", 0, 1 << 30,
               &limit);
    flags->Int("depth", "candidates to rerank; default 50", 0, limits::kMaxHits, &depth);
    store.DefineCaptions(flags);
    flags->String("differences", "FILE",
                  "list each query whose answers are not the same digit for digit, and where",
                  &differences);
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

// Also where the bundle declares that by default nothing is reranked: what asks for it is.
Method MethodOf(const CompareFlags& flags, const EvaluationStore::Reranker& reranker) {
  if (!reranker.declared.has_value()) return Method();
  return {flags.depth, reranker.declared->combination};
}

// Adds to `differences` a line for each query whose lists are not the same digit for digit.
absl::StatusOr<Agreement> CompareDirection(const CompareFlags& flags, const EvaluationStore& store,
                                           Direction direction, Ranker* live,
                                           std::string* differences, Progress* progress,
                                           const CallContext& call) {
  const std::vector<EvaluationQuery> queries =
      Sample(store.relevance().Queries(direction), flags.limit);
  const EvaluationStore::Reranker& reranker = store.reranker(direction);
  const Method method = MethodOf(flags, reranker);
  const float grid = method.depth > 0
                         ? GridOf(method.combination, reranker.model->cross_encoder()->score_kind())
                         : 0;
  StoreRanker expected(&store);
  progress->Begin(absl::StrCat("compare ", DirectionName(direction)), "queries",
                  static_cast<int64_t>(queries.size()));
  std::function<void(const ComparedLists&)> see;
  if (!flags.differences.empty()) {
    see = [differences](const ComparedLists& lists) { *differences += DifferenceLine(lists); };
  }
  Agreement total;
  const auto batch_size = static_cast<size_t>(expected.batch_size());
  for (size_t begin = 0; begin < queries.size(); begin += batch_size) {
    const auto batch = absl::MakeConstSpan(queries).subspan(begin, batch_size);
    ASSIGN_OR_RETURN(const Agreement agreement,
                     CompareRankers({direction, batch, {&method, 1}, kListLength}, grid, &expected,
                                    live, call, see));
    total.Add(agreement);
    progress->Advance(static_cast<int64_t>(batch.size()));
  }
  progress->End();
  return total;
}

// What the fleet computes in, by its answer to a query of each direction.
absl::StatusOr<StorePrecisions> PrecisionsOf(const CompareFlags& flags,
                                             const EvaluationStore& store, SearchClient* client,
                                             const CallContext& call) {
  StorePrecisions precisions;
  LiveRanker live(client, flags.fleet.RankerOptions(store));
  for (const Direction direction : flags.store.Directions()) {
    const auto queries = Sample(store.relevance().Queries(direction), 1);
    const Method method = MethodOf(flags, store.reranker(direction));
    RETURN_IF_ERROR(
        live.Precisions({direction, queries, {&method, 1}, kListLength}, call, &precisions));
  }
  return precisions;
}

// What is computed in; what a fleet does not tell counts as float32.
std::string PrecisionsText(const std::vector<Direction>& directions, StorePrecisions precisions) {
  std::string text = "computed in:";
  for (const Direction direction : directions) {
    const bool of_pictures = direction == Direction::kTextToImage;
    if (of_pictures) absl::StrAppend(&text, " encoder ", precisions.encoder, ",");
    absl::StrAppend(&text, " reranker of ", of_pictures ? "pictures " : "captions ",
                    precisions.reranker(direction), direction == directions.back() ? "\n" : ",");
  }
  return text;
}

// Whether all agree.
absl::StatusOr<bool> Compare(const CompareFlags& flags, const Console& console) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(OpenedStore opened, OpenStore(flags.store, call));
  const std::unique_ptr<SearchClient> client = MakeGrpcSearchClient(flags.fleet.router);
  LiveRankerOptions live_options = flags.fleet.RankerOptions(*opened.store);
  EvaluationStoreOptions options = flags.store.StoreOptions();
  ASSIGN_OR_RETURN(options.precisions, PrecisionsOf(flags, *opened.store, client.get(), call));
  if (!(options.precisions == StorePrecisions())) {
    opened.store.reset();
    ASSIGN_OR_RETURN(opened.store, EvaluationStore::Open(options, opened.pool.get(), call));
  }
  console.out << PrecisionsText(flags.store.Directions(), options.precisions);
  live_options.precisions = options.precisions;
  LiveRanker live(client.get(), live_options);
  Progress progress(Progress::OnStandardError(), Clock::Real());
  bool agrees = true;
  std::string differences;
  for (const Direction direction : flags.store.Directions()) {
    ASSIGN_OR_RETURN(
        const Agreement agreement,
        CompareDirection(flags, *opened.store, direction, &live, &differences, &progress, call));
    console.out << AgreementText(direction, agreement);
    agrees = agrees && agreement.agrees();
  }
  if (!flags.differences.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(flags.differences, differences));
  }
  return agrees;
}

}  // namespace

absl::StatusOr<Agreement> CompareRankers(const RankRequest& request, float grid, Ranker* expected,
                                         Ranker* actual, const CallContext& call,
                                         const std::function<void(const ComparedLists&)>& see) {
  ASSIGN_OR_RETURN(const Rankings expected_lists, expected->Rank(request, call));
  ASSIGN_OR_RETURN(const Rankings actual_lists, actual->Rank(request, call));
  Agreement total;
  for (size_t q = 0; q < request.queries.size(); ++q) {
    Agreement agreement = CompareHits(expected_lists[q][0], actual_lists[q][0], grid);
    if (see != nullptr) {
      see({request.direction, request.queries[q], expected_lists[q][0], actual_lists[q][0],
           agreement});
    }
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
  if (usable.ok()) usable = flags.fleet.Check();
  if (usable.ok() && !words.empty()) {
    usable = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (!usable.ok()) return UsageError(kCompareCommand, std::string(usable.message()), console);
  const absl::StatusOr<bool> agrees = Compare(flags, console);
  if (!agrees.ok()) return Fail(agrees.status(), console);
  return *agrees ? kSuccess : kFailure;
}

}  // namespace sightline
