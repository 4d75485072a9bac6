#include "services/evaluator/precision_command.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/paired.h"
#include "common/evaluation/store_ranker.h"
#include "common/log/progress.h"
#include "services/evaluator/evaluator_flags.h"

namespace sightline {
namespace {

struct PrecisionFlags {
  StoreFlags store;
  int64_t limit = 0;  // all
  int depth = 20;
  BootstrapOptions bootstrap;

  void Define(Flags* flags) {
    store.Define(flags);
    store.DefinePrecision(flags, "bfloat16 or int8: what float32 is compared with");
    flags->Int("limit", "queries of each direction, evenly spread; default: all", 1, 1 << 30,
               &limit);
    flags->Int("depth", "candidates to rerank; default 20", 1, limits::kMaxHits, &depth);
    flags->Int("resamples", "of the bootstrap; default 10000", 100, 1000000, &bootstrap.resamples);
    flags->Int("seed", "of the bootstrap; default 1", 0, int64_t{1} << 53, &bootstrap.seed);
  }
};

// Retrieval, the cross-encoder alone, and what the bundle declares or would take when asked.
std::vector<Method> MethodsOf(const EvaluationStore& store, Direction direction, int depth) {
  const auto& declared = store.reranker(direction).declared;
  if (!declared.has_value()) return {Method()};
  return Methods(absl::MakeConstSpan(&depth, 1), AllCombinations({}, declared->combination));
}

std::string PairedText(const PrecisionFlags& flags, Direction direction, int64_t queries,
                       const std::vector<PairedResult>& results) {
  const std::string& precision = flags.store.precision;
  Table table({{"method"},
               {"depth", true},
               {"R@1 float32", true},
               {absl::StrCat("R@1 ", precision), true},
               {absl::StrFormat("difference [%g %%]", 100 * flags.bootstrap.confidence), true},
               {"top-10 overlap", true}});
  for (const PairedResult& result : results) {
    const Interval& difference = result.recall_at_1;
    table.AddRow({MethodText(result.method),
                  result.method.depth == 0 ? "-" : absl::StrCat(result.method.depth),
                  absl::StrFormat("%.2f", 100 * result.reference.recall_at(1)),
                  absl::StrFormat("%.2f", 100 * result.other.recall_at(1)),
                  absl::StrFormat("%+.2f [%+.2f, %+.2f]", 100 * difference.estimate,
                                  100 * difference.low, 100 * difference.high),
                  absl::StrFormat("%.4f", result.top10_overlap)});
  }
  return absl::StrCat(DirectionName(direction), ", ", precision,
                      " and float32: ", WithThousands(queries), " queries\n",
                      table.ToString(/*indent=*/2));
}

// Both stores, one pool: they never compute at once.
absl::Status RunBoth(const PrecisionFlags& flags, const Console& console) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const OpenedStore other, OpenStore(flags.store, call));
  ASSIGN_OR_RETURN(const std::unique_ptr<EvaluationStore> reference,
                   EvaluationStore::Open(flags.store.options, other.pool.get(), call));
  StoreRanker expected(reference.get());
  StoreRanker actual(other.store.get());
  Progress progress(Progress::OnStandardError(), Clock::Real());
  for (const Direction direction : flags.store.Directions()) {
    MeasureSpec spec;
    spec.direction = direction;
    spec.queries = Sample(reference->relevance().Queries(direction), flags.limit);
    spec.methods = MethodsOf(*reference, direction, flags.depth);
    spec.bootstrap = flags.bootstrap;
    progress.Begin(absl::StrCat("compare ", DirectionName(direction)), "queries",
                   static_cast<int64_t>(spec.queries.size()));
    const auto results = MeasurePaired(spec, reference->relevance(), &expected, &actual,
                                       other.pool.get(), &progress, call);
    progress.End();
    RETURN_IF_ERROR(results.status());
    console.out << PairedText(flags, direction, static_cast<int64_t>(spec.queries.size()),
                              *results);
  }
  return absl::OkStatus();
}

}  // namespace

int RunPrecision(const std::vector<std::string>& args, const Console& console) {
  PrecisionFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kPrecisionCommand, &definitions, args, console, &words, &status)) {
    return status;
  }
  absl::Status usable = flags.store.Check();
  if (usable.ok() && !words.empty()) {
    usable = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (usable.ok() && flags.store.precision == "float32") {
    usable = absl::InvalidArgumentError("give --precision NAME: what float32 is compared with");
  }
  if (!usable.ok()) return UsageError(kPrecisionCommand, std::string(usable.message()), console);
  const absl::Status done = RunBoth(flags, console);
  return done.ok() ? kSuccess : Fail(done, console);
}

}  // namespace sightline
