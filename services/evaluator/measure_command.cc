#include "services/evaluator/measure_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/clients/search_client.h"
#include "common/dataset/open_corpus.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/list_file.h"
#include "common/evaluation/protocol.h"
#include "common/evaluation/store_ranker.h"
#include "common/log/progress.h"
#include "services/evaluator/earlier_report.h"
#include "services/evaluator/evaluator_flags.h"
#include "services/evaluator/measured_lists.h"
#include "services/evaluator/report.h"
#include "services/evaluator/timed_search_client.h"

namespace sightline {
namespace {

// "At depth 20 and 50 together": at 10, R@10 is retrieval's.
constexpr int kChoiceDepths[] = {20, 50};

struct MeasureFlags {
  StoreFlags store;
  FleetFlags fleet;
  std::string splits;
  std::vector<std::string> split;
  std::string depths = "10,20,50";
  std::string lambdas = "0.1,0.3,0.5,0.7,0.9";
  std::string json, lists;
  int64_t limit = 0;  // all
  int64_t list_length = kListLength;
  BootstrapOptions bootstrap;
  bool all = false;
  bool choose = false;
  std::string against;

  void Define(Flags* flags) {
    store.Define(flags);
    store.DefinePrecision(flags,
                          "that this process computes in: float32 (default), bfloat16 or int8");
    flags->String("splits", "FILE",
                  "items.jsonl of `trainer prepare`, or a published set, karpathy:FILE; default: "
                  "one split, all",
                  &splits);
    flags->Strings("split", "NAME",
                   "measure this one: train, validation or held_out; repeatable, or with commas "
                   "between; default: all three",
                   &split);
    store.DefineCaptions(flags);
    flags->String("depths", "N,...", "candidates to rerank; default 10,20,50", &depths);
    flags->String("lambdas", "L,...",
                  "weights of the retrieval score in both sums; default 0.1,0.3,0.5,0.7,0.9",
                  &lambdas);
    flags->Switch("all", "print every combination, and ask a fleet for every one", &all);
    flags->Switch("choose",
                  "say which combination is best on the validation split at depth 20 and 50, or "
                  "that none is, for each direction",
                  &choose);
    flags->String(
        "against", "FILE",
        "what an earlier --json wrote of the same queries: say what has been gained, with "
        "intervals",
        &against);
    flags->String("json", "FILE", "write everything there, too", &json);
    flags->String("lists", "FILE",
                  "write there where each list has what is right, too, for `tables --lists`; with "
                  "--captions all",
                  &lists);
    flags->Int("limit", "queries of each split, evenly spread; default: all", 1, 1 << 30, &limit);
    flags->Int("list-length", "hits of each list that are looked at; default 50", kMinListLength,
               limits::kMaxHits, &list_length);
    flags->Int("resamples", "of the bootstrap; default 10000", 100, 1000000, &bootstrap.resamples);
    flags->Int("seed", "of the bootstrap; default 1", 0, int64_t{1} << 53, &bootstrap.seed);
    fleet.Define(flags, "measure the fleet behind this router, not this process");
  }
};

// None stands for everything.
using WantedSplits = std::vector<absl::optional<Split>>;

// The command line, understood.
struct MeasurePlan {
  std::vector<int> depths;
  std::vector<float> lambdas;
  WantedSplits splits;
  bool every_combination = false;
};

absl::StatusOr<WantedSplits> PlanSplits(const MeasureFlags& flags) {
  if (flags.splits.empty()) {
    if (flags.split.empty()) return WantedSplits{absl::nullopt};
    return absl::InvalidArgumentError("--split chooses from --splits FILE; there is none");
  }
  if (flags.split.empty()) {
    return WantedSplits{Split::kTrain, Split::kValidation, Split::kHeldOut};
  }
  WantedSplits splits;
  for (const std::string& list : flags.split) {
    for (const absl::string_view name : absl::StrSplit(list, ',')) {
      const absl::StatusOr<Split> split = ParseSplit(name);
      if (!split.ok() || std::count(splits.begin(), splits.end(), *split) > 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--split: '", name, "' is not one of train, validation and held_out, given once"));
      }
      splits.push_back(*split);
    }
  }
  return splits;
}

absl::Status CheckChoice(const MeasureFlags& flags, const MeasurePlan& plan) {
  if (!flags.choose) return absl::OkStatus();
  const auto has_depth = [&plan](int depth) {
    return std::count(plan.depths.begin(), plan.depths.end(), depth) > 0;
  };
  if (std::count(plan.splits.begin(), plan.splits.end(), Split::kValidation) == 0) {
    return absl::InvalidArgumentError("--choose needs the validation split of --splits FILE");
  }
  if (!std::all_of(std::begin(kChoiceDepths), std::end(kChoiceDepths), has_depth)) {
    return absl::InvalidArgumentError("--choose needs the depths 20 and 50 among --depths");
  }
  if (!plan.every_combination) {
    return absl::InvalidArgumentError("--choose with --router needs --all");
  }
  return absl::OkStatus();
}

// Tables are as the papers count, of both directions and one pool.
absl::Status CheckLists(const MeasureFlags& flags, const MeasurePlan& plan) {
  if (flags.lists.empty()) return absl::OkStatus();
  if (!flags.store.every_caption()) {
    return absl::InvalidArgumentError("--lists needs --captions all");
  }
  if (flags.store.Directions().size() < 2) {
    return absl::InvalidArgumentError("--lists needs both directions");
  }
  if (plan.splits.size() > 1) {
    return absl::InvalidArgumentError("--lists is of one split; give one --split");
  }
  if (flags.limit > 0) {
    return absl::InvalidArgumentError("--lists is of all queries; leave --limit out");
  }
  for (const auto& [flag, file] : {std::pair("--json", &flags.json),
                                   {"--against", &flags.against},
                                   {"--splits", &flags.splits}}) {
    if (file->empty() || PathOf(*file) != PathOf(flags.lists)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--lists and ", flag, " are one file; give each its own"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MeasurePlan> MakePlan(const MeasureFlags& flags) {
  RETURN_IF_ERROR(flags.store.Check());
  RETURN_IF_ERROR(flags.fleet.Check());
  if (flags.fleet.router.empty() && (!flags.fleet.recall.empty() || flags.fleet.effort)) {
    return absl::InvalidArgumentError(
        "--recall and --effort are for a fleet; this process compares all items. Give --router");
  }
  MeasurePlan plan;
  ASSIGN_OR_RETURN(plan.depths, ParseNumbers("depths", flags.depths, 1, limits::kMaxHits));
  ASSIGN_OR_RETURN(plan.lambdas, ParseLambdas("lambdas", flags.lambdas));
  ASSIGN_OR_RETURN(plan.splits, PlanSplits(flags));
  plan.every_combination = flags.all || flags.fleet.router.empty();
  RETURN_IF_ERROR(CheckChoice(flags, plan));
  RETURN_IF_ERROR(CheckLists(flags, plan));
  return plan;
}

std::vector<Method> MethodsFor(const MeasurePlan& plan, const EvaluationStore& store,
                               Direction direction) {
  const absl::optional<DeclaredCombination> declared = store.reranker(direction).declared;
  if (!declared.has_value()) return {Method()};  // nothing to rerank with
  const absl::Span<const float> lambdas = plan.lambdas;
  return Methods(plan.depths,
                 AllCombinations(plan.every_combination ? lambdas : lambdas.subspan(0, 0),
                                 declared->combination));
}

EvaluatedIndex Describe(const EvaluationStore& store, Direction direction) {
  const bundle::v1::GenerationManifest& manifest = store.target(direction).manifest();
  const EvaluationStore::Reranker& reranker = store.reranker(direction);
  return {manifest.index(),
          manifest.generation(),
          manifest.item_count(),
          manifest.encoder_model(),
          reranker.model == nullptr ? "" : reranker.model->id(),
          reranker.name,
          reranker.declared};
}

// None where there is no path.
absl::StatusOr<absl::optional<EarlierReport>> ReadEarlier(const std::string& path) {
  if (path.empty()) return absl::optional<EarlierReport>();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxReportBytes));
  ASSIGN_OR_RETURN(EarlierReport report, Within(path, ParseEarlierReport(text)));
  return absl::optional<EarlierReport>(std::move(report));
}

class MeasureRun {
 public:
  MeasureRun(const MeasureFlags& flags, const MeasurePlan& plan,
             const absl::optional<EarlierReport>& earlier, const OpenedStore& opened)
      : flags_(flags),
        plan_(plan),
        earlier_(earlier),
        opened_(opened),
        progress_(Progress::OnStandardError(), Clock::Real()) {}

  absl::StatusOr<MeasureReport> Run(const CallContext& call) {
    RETURN_IF_ERROR(ReadSplits());
    ASSIGN_OR_RETURN(const std::vector<MeasureSpec> specs, Specs());
    MeasureReport report = EmptyReport();
    const std::unique_ptr<SearchClient> client =
        report.live ? MakeGrpcSearchClient(flags_.fleet.router) : nullptr;
    TimedSearchClient timed(client.get());
    std::unique_ptr<Ranker> ranker;
    if (report.live) {
      ranker = std::make_unique<LiveRanker>(&timed, flags_.fleet.RankerOptions(*opened_.store));
    } else {
      ranker = std::make_unique<StoreRanker>(opened_.store.get());
    }
    for (const MeasureSpec& spec : specs) {
      ASSIGN_OR_RETURN(Measurement measurement, MeasureOne(spec, *ranker, call));
      report.measurements.push_back(std::move(measurement));
    }
    if (!flags_.lists.empty()) {
      const bool alone = report.live && flags_.fleet.parallel == 1;
      lists_ = FormatListFile(
          MeasuredLists(report, specs, opened_.store->relevance(), alone ? &timed : nullptr));
    }
    if (flags_.choose) {
      ASSIGN_OR_RETURN(report.choices, Choose(report.measurements));
    }
    return report;
  }

  // The file of its lists, if it is asked for.
  const std::string& lists() const { return lists_; }

 private:
  absl::Status ReadSplits() {
    if (flags_.splits.empty()) return absl::OkStatus();
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(flags_.splits, absl::MaxSplits(':', 1));
    if (ParseCorpusKind(parts.first).ok()) {
      ASSIGN_OR_RETURN(const CorpusSpec spec, ParseCorpus(flags_.splits));
      ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
      ASSIGN_OR_RETURN(const CorpusListing listing, corpus->List());
      ASSIGN_OR_RETURN(splits_, Within(flags_.splits, SaidSplits(listing)));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string text, ReadFile(flags_.splits));
    ASSIGN_OR_RETURN(splits_, Within(flags_.splits, ParseItemSplits(text)));
    return absl::OkStatus();
  }

  absl::StatusOr<const EarlierResults*> Earlier(const MeasureSpec& spec) const {
    return Within(
        flags_.against,
        FindEarlier(*earlier_, spec, opened_.store->target(spec.direction).manifest().item_count(),
                    CaptionsText(flags_.store.every_caption()), flags_.store.options.language));
  }

  MeasureReport EmptyReport() const {
    MeasureReport report;
    report.earlier = flags_.against;
    report.live = !flags_.fleet.router.empty();
    report.images = Describe(*opened_.store, Direction::kTextToImage);
    report.captions = Describe(*opened_.store, Direction::kImageToText);
    report.language = flags_.store.options.language;
    report.every_caption = flags_.store.every_caption();
    report.depths = plan_.depths;
    report.list_length = static_cast<int>(flags_.list_length);
    report.limit = flags_.limit;
    report.bootstrap = flags_.bootstrap;
    return report;
  }

  // Of each direction and split; each has been asked before, where there is an earlier report.
  absl::StatusOr<std::vector<MeasureSpec>> Specs() const {
    std::vector<MeasureSpec> specs;
    for (const Direction direction : flags_.store.Directions()) {
      for (const absl::optional<Split> split : plan_.splits) {
        ASSIGN_OR_RETURN(MeasureSpec spec, SpecOf(direction, split));
        if (earlier_.has_value()) RETURN_IF_ERROR(Earlier(spec).status());
        if (!flags_.lists.empty()) RETURN_IF_ERROR(CheckListable(spec));
        specs.push_back(std::move(spec));
      }
    }
    return specs;
  }

  static absl::Status CheckListable(const MeasureSpec& spec) {
    if (spec.methods.size() > kMaxListMethods) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lists has at most ", kMaxListMethods, " methods, and these are ",
                       spec.methods.size(), "; give fewer --depths or --lambdas"));
    }
    if (!spec.queries.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("there is no query of ",
                                                      DirectionName(spec.direction), ", ",
                                                      SplitText(spec.split), ", to make lists of"));
  }

  absl::StatusOr<MeasureSpec> SpecOf(Direction direction, absl::optional<Split> split) const {
    MeasureSpec spec;
    spec.direction = direction;
    spec.split = split;
    spec.queries = opened_.store->relevance().Queries(direction);
    if (split.has_value()) {
      ASSIGN_OR_RETURN(spec.queries, QueriesOf(*split, splits_, spec.queries));
    }
    spec.queries = Sample(std::move(spec.queries), flags_.limit);
    spec.methods = MethodsFor(plan_, *opened_.store, direction);
    spec.list_length = static_cast<int>(flags_.list_length);
    spec.bootstrap = flags_.bootstrap;
    return spec;
  }

  absl::StatusOr<Measurement> MeasureOne(const MeasureSpec& spec, Ranker& ranker,
                                         const CallContext& call) {
    progress_.Begin(absl::StrCat(DirectionName(spec.direction), " ", SplitText(spec.split)),
                    "queries", static_cast<int64_t>(spec.queries.size()));
    absl::StatusOr<Measurement> measurement =
        Measure(spec, opened_.store->relevance(), &ranker, opened_.pool.get(), &progress_, call);
    progress_.End();
    if (measurement.ok() && earlier_.has_value()) {
      ASSIGN_OR_RETURN(const EarlierResults* const earlier, Earlier(spec));
      HoldAgainst(*earlier, spec, opened_.store->reranker(spec.direction).declared,
                  opened_.pool.get(), &*measurement);
    }
    return measurement;
  }

  static absl::StatusOr<std::vector<Choice>> Choose(absl::Span<const Measurement> measurements) {
    std::vector<Choice> choices;
    for (const Measurement& measurement : measurements) {
      if (measurement.split != Split::kValidation) continue;
      ASSIGN_OR_RETURN(Choice choice, ChooseCombination(measurement, kChoiceDepths));
      choices.push_back(choice);
    }
    return choices;
  }

  const MeasureFlags& flags_;
  const MeasurePlan& plan_;
  const absl::optional<EarlierReport>& earlier_;
  const OpenedStore& opened_;
  Progress progress_;
  ItemSplits splits_;
  std::string lists_;
};

}  // namespace

int RunMeasure(const std::vector<std::string>& args, const Console& console) {
  MeasureFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kMeasureCommand, &definitions, args, console, &words, &status)) return status;
  absl::StatusOr<MeasurePlan> plan = MakePlan(flags);
  if (plan.ok() && !words.empty()) {
    plan = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (!plan.ok()) {
    return UsageError(kMeasureCommand, std::string(plan.status().message()), console);
  }
  for (const std::string& path : {flags.json, flags.lists}) {
    const absl::Status writable = CheckCanWrite(path);
    if (!writable.ok()) return Fail(writable, console);
  }
  const absl::StatusOr<absl::optional<EarlierReport>> earlier = ReadEarlier(flags.against);
  if (!earlier.ok()) return Fail(earlier.status(), console);
  const CallContext call = CallContext::Unbounded();
  const absl::StatusOr<OpenedStore> opened = OpenStore(flags.store, call);
  if (!opened.ok()) return Fail(opened.status(), console);
  MeasureRun run(flags, *plan, *earlier, *opened);
  const absl::StatusOr<MeasureReport> report = run.Run(call);
  if (!report.ok()) return Fail(report.status(), console);
  console.out << ReportText(*report, flags.all);
  absl::Status written = WriteIfAsked(flags.json, ReportJson(*report));
  if (written.ok()) written = WriteIfAsked(flags.lists, run.lists());
  return written.ok() ? kSuccess : Fail(written, console);
}

}  // namespace sightline
