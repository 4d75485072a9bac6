#include "services/evaluator/tables_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/score_file.h"
#include "common/evaluation/score_origin.h"
#include "common/evaluation/score_timing.h"
#include "common/log/progress.h"
#include "services/evaluator/evaluator_flags.h"
#include "services/evaluator/tables_flags.h"
#include "services/evaluator/tables_lists.h"
#include "services/evaluator/tables_page.h"
#include "services/evaluator/tables_report.h"

namespace sightline {
namespace {

using MeasuredRun = std::vector<std::vector<QueryMeasures>>;  // [method][query]

// One run's share of the mean of `runs`.
void AddRun(const MeasuredRun& run, size_t runs, MeasuredRun* mean) {
  if (mean->empty()) mean->assign(run.size(), std::vector<QueryMeasures>(run[0].size()));
  for (size_t m = 0; m < run.size(); ++m) {
    for (size_t q = 0; q < run[m].size(); ++q) {
      for (size_t i = 0; i < run[m][q].size(); ++i) {
        (*mean)[m][q][i] += run[m][q][i] / static_cast<double>(runs);
      }
    }
  }
}

class TablesRun {
 public:
  TablesRun(const TablesFlags& flags, const TablesPlan& plan)
      : flags_(flags),
        plan_(plan),
        threads_(flags.threads),
        progress_(Progress::OnStandardError(), Clock::Real()) {}

  // To `err` goes what people should know of the pools.
  absl::StatusOr<TablesReport> Run(std::ostream& err) {
    RETURN_IF_ERROR(Read());
    err << PoolsNote(plan_.protocol, items_);
    ASSIGN_OR_RETURN(const std::vector<TablePart> parts, MakeParts());
    TakeAsking(parts.front().pools);
    TablesReport report = Begun(parts);
    std::vector<MethodOutcome> outcomes;
    progress_.Begin("ranking", "pools", static_cast<int64_t>(PoolCount(parts)));
    for (const TablesPlan::Policy& policy : plan_.policies) {
      ASSIGN_OR_RETURN(const absl::optional<ScoreKind> kind, KindOf(policy));
      RETURN_IF_ERROR(Measure(policy, kind, parts, &outcomes));
      for (const Method& method : policy.methods) {
        report.rankings.push_back({policy.name, method, TimeOf(policy, method),
                                   static_cast<int>(policy.runs.size()), kind});
      }
    }
    progress_.End();
    report.rows = MakeTable(parts, outcomes, items_, plan_.recall, flags_.bootstrap, &threads_);
    return report;
  }

 private:
  TablesReport Begun(const std::vector<TablePart>& parts) const {
    TablesReport report;
    for (const TablesPlan::Matrix& matrix : plan_.matrices) {
      report.matrices.emplace_back(matrix.name, matrix.file);
    }
    for (const TablesPlan::Ensemble& ensemble : plan_.ensembles) {
      report.ensembles.emplace_back(ensemble.name, absl::StrJoin(ensemble.members, "+"));
    }
    report.protocol = plan_.protocol.name;
    report.measure = plan_.measure;
    report.recall = plan_.recall;
    report.image_to_text_first = plan_.image_to_text_first;
    report.bootstrap = flags_.bootstrap;
    report.parts = parts;
    report.layouts = plan_.layouts;
    report.asking = asking_;
    return report;
  }

  void TakeAsking(absl::Span<const EvaluationPool> pools) {
    std::vector<bool> stands(items_.images.size());
    for (const EvaluationPool& pool : pools) {
      asking_.push_back({static_cast<int64_t>(pool.caption_queries.size()),
                         static_cast<int>(pool.images.size())});
      for (const int image : pool.images) stands[image] = true;
    }
    encoded_share_ = static_cast<double>(std::count(stands.begin(), stands.end(), true)) /
                     static_cast<double>(stands.size());
  }

  absl::Status Read() {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(flags_.pairs));
    ASSIGN_OR_RETURN(items_, Within(flags_.pairs, ParseMatrixItems(text)));
    for (const TablesPlan::Matrix& matrix : plan_.matrices) {
      ASSIGN_OR_RETURN(auto file, ScoreFile::Open(matrix.file, items_));
      RETURN_IF_ERROR(AddScores(matrix.name, {file->matrix()}));
      files_.emplace(matrix.name, std::move(file));
      RETURN_IF_ERROR(ReadSidecar(matrix));
      TakeSaid(matrix.name);
    }
    for (const TablesPlan::Ensemble& ensemble : plan_.ensembles) {
      std::vector<ScoreMatrix> members;
      for (const std::string& member : ensemble.members) {
        members.push_back(files_.at(member)->matrix());
      }
      RETURN_IF_ERROR(AddScores(ensemble.name, std::move(members)));
      AddTimings(ensemble);
      TakeSaid(ensemble.name);
    }
    return absl::OkStatus();
  }

  absl::Status ReadSidecar(const TablesPlan::Matrix& matrix) {
    const std::string path = TimingPath(matrix.file);
    if (!FileExists(path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTimingBytes));
    ASSIGN_OR_RETURN(const ScoreOrigin origin, Within(path, ParseScoreOrigin(text, items_)));
    if (origin.kind.has_value()) kinds_[matrix.name] = *origin.kind;
    ASSIGN_OR_RETURN(const ScoreTiming timing, Within(path, ParseScoreTiming(text, items_)));
    timings_[matrix.name] = {timing};
    return absl::OkStatus();
  }

  // What the scores are that rerank, as --rerank-scores or the matrices' files say, which must not
  // contradict each other.  Nothing where nothing reranks.
  absl::StatusOr<absl::optional<ScoreKind>> KindOf(const TablesPlan::Policy& policy) const {
    absl::optional<ScoreKind> kind = plan_.rerank_kind;
    for (const TablesPlan::Stages& run : policy.runs) {
      if (run.rerank.empty()) return absl::optional<ScoreKind>();
      for (const std::string& matrix : MatricesOf(run.rerank)) {
        const auto said = kinds_.find(matrix);
        if (said == kinds_.end()) continue;
        if (kind.value_or(said->second) != said->second) {
          return absl::InvalidArgumentError(absl::StrCat(
              policy.name, ": the scores of ", matrix, " are ", ScoreKindName(said->second),
              ", as its file beside it says, and not ", ScoreKindName(*kind), ", which ",
              plan_.rerank_kind.has_value() ? "--rerank-scores says" : "another one's are"));
        }
        kind = said->second;
      }
    }
    return absl::optional<ScoreKind>(kind.value_or(ScoreKind::kSoftmaxMatch));
  }

  // Of an ensemble its members, else the matrix itself.
  std::vector<std::string> MatricesOf(const std::string& name) const {
    for (const TablesPlan::Ensemble& ensemble : plan_.ensembles) {
      if (ensemble.name == name) return ensemble.members;
    }
    return {name};
  }

  // An ensemble takes what its members take; nobody knows it where one does not say.
  void AddTimings(const TablesPlan::Ensemble& ensemble) {
    std::vector<ScoreTiming> timings;
    for (const std::string& member : ensemble.members) {
      const auto found = timings_.find(member);
      if (found == timings_.end()) return;
      timings.push_back(found->second.front());
    }
    timings_[ensemble.name] = std::move(timings);
  }

  // Of --seconds.  Encoding stays what the file says of it.
  void TakeSaid(const std::string& name) {
    const auto seconds = plan_.seconds.find(name);
    if (seconds == plan_.seconds.end()) return;
    ScoreTiming said = SaidTiming(seconds->second, items_);
    const auto found = timings_.find(name);
    if (found != timings_.end() && found->second.size() == 1) {
      said.encoding_seconds = found->second.front().encoding_seconds;
    }
    timings_[name] = {said};
  }

  // The mean of its runs; nothing where one's is not known.
  absl::optional<QueryTime> TimeOf(const TablesPlan::Policy& policy, const Method& method) const {
    std::vector<QueryTime> times;
    for (const TablesPlan::Stages& run : policy.runs) {
      const absl::optional<QueryTime> time = TimeOf(run, method);
      if (!time.has_value()) return absl::nullopt;
      times.push_back(*time);
    }
    return MeanTime(times);
  }

  absl::optional<QueryTime> TimeOf(const TablesPlan::Stages& run, const Method& method) const {
    const auto retrieval = timings_.find(run.retrieval), rerank = timings_.find(run.rerank);
    if (retrieval == timings_.end()) return absl::nullopt;
    if (method.depth > 0 && rerank == timings_.end()) return absl::nullopt;
    absl::optional<QueryTime> time = TimeInPools(
        retrieval->second, method.depth > 0 ? rerank->second : std::vector<ScoreTiming>(),
        method.depth, asking_);
    if (time.has_value() && time->encoding_seconds.has_value()) {
      *time->encoding_seconds *= encoded_share_;
    }
    return time;
  }

  absl::Status AddScores(const std::string& name, std::vector<ScoreMatrix> members) {
    ASSIGN_OR_RETURN(NamedScores scores, NamedScores::Create(name, std::move(members)));
    scores_.emplace(name, std::move(scores));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<TablePart>> MakeParts() const {
    ASSIGN_OR_RETURN(const auto pools, ReadPools(plan_.protocol, items_));
    if (plan_.languages.empty()) return std::vector<TablePart>{{"", pools}};
    const bool each = plan_.languages.front() == "each";
    std::vector<TablePart> parts;
    for (const std::string& language : each ? items_.Languages() : plan_.languages) {
      TablePart& part = parts.emplace_back();
      part.language = language;
      for (const EvaluationPool& pool : pools) {
        ASSIGN_OR_RETURN(EvaluationPool own, InLanguage(pool, items_, language));
        part.pools.push_back(std::move(own));
      }
    }
    return parts;
  }

  size_t PoolCount(const std::vector<TablePart>& parts) const {
    size_t pools = 0;
    for (const TablePart& part : parts) pools += part.pools.size();
    return pools * plan_.policies.size();
  }

  // Adds the outcomes of each method of the policy.
  absl::Status Measure(const TablesPlan::Policy& policy, absl::optional<ScoreKind> kind,
                       const std::vector<TablePart>& parts, std::vector<MethodOutcome>* outcomes) {
    std::vector<MethodOutcome> own(policy.methods.size(), MethodOutcome(parts.size()));
    for (size_t part = 0; part < parts.size(); ++part) {
      for (const EvaluationPool& pool : parts[part].pools) {
        for (MethodOutcome& outcome : own) outcome[part].emplace_back();
        for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
          ASSIGN_OR_RETURN(MeasuredRun measured, MeanOfRuns(policy, kind, direction, pool));
          for (size_t m = 0; m < own.size(); ++m) {
            own[m][part].back().of(direction) = std::move(measured[m]);
          }
        }
        progress_.Advance(1);
      }
    }
    for (MethodOutcome& outcome : own) outcomes->push_back(std::move(outcome));
    return absl::OkStatus();
  }

  absl::StatusOr<MeasuredRun> MeanOfRuns(const TablesPlan::Policy& policy,
                                         absl::optional<ScoreKind> kind, Direction direction,
                                         const EvaluationPool& pool) {
    MeasuredRun mean;
    for (const TablesPlan::Stages& run : policy.runs) {
      const MatrixPolicy ranking = {&scores_.at(run.retrieval),
                                    run.rerank.empty() ? nullptr : &scores_.at(run.rerank),
                                    kind.value_or(ScoreKind::kSoftmaxMatch), policy.methods};
      ASSIGN_OR_RETURN(MeasuredRun measured,
                       MeasurePolicy(ranking, direction, pool, items_, plan_.measure, &threads_));
      // A run alone stays what it is, to the last digit.
      if (policy.runs.size() == 1) return measured;
      AddRun(measured, policy.runs.size(), &mean);
    }
    return mean;
  }

  const TablesFlags& flags_;
  const TablesPlan& plan_;
  ComputePool threads_;
  Progress progress_;
  MatrixItems items_;
  std::vector<AskingCaptions> asking_;  // of each pool
  double encoded_share_ = 0;            // of all images, how many stand in a pool
  std::map<std::string, std::unique_ptr<ScoreFile>> files_;
  std::map<std::string, NamedScores> scores_;
  std::map<std::string, ScoreKind> kinds_;                   // of matrices whose files say it
  std::map<std::string, std::vector<ScoreTiming>> timings_;  // of a matrix, or of all its members
};

absl::StatusOr<TablesReport> Report(const TablesFlags& flags, const TablesPlan& plan,
                                    std::ostream& err) {
  if (plan.lists.empty()) return TablesRun(flags, plan).Run(err);
  ComputePool threads(flags.threads);
  return TablesOfLists(flags, plan, &threads);
}

}  // namespace

int RunTables(const std::vector<std::string>& args, const Console& console) {
  TablesFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kTablesCommand, &definitions, args, console, &words, &status)) return status;
  absl::StatusOr<TablesPlan> plan = PlanTables(flags);
  if (plan.ok() && !words.empty()) {
    plan = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (!plan.ok()) {
    return UsageError(kTablesCommand, std::string(plan.status().message()), console);
  }
  const absl::StatusOr<TablesReport> report = Report(flags, *plan, console.err);
  if (!report.ok()) return Fail(report.status(), console);
  console.out << TablesText(*report);
  absl::Status written = WriteIfAsked(flags.json, TablesJson(*report));
  if (written.ok()) written = WriteIfAsked(flags.csv, TablesCsv(*report));
  if (written.ok()) written = WriteIfAsked(flags.page, TablesPage(*report));
  return written.ok() ? kSuccess : Fail(written, console);
}

}  // namespace sightline
