#include "services/evaluator/scores_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/base/checksum.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/named_bundle.h"
#include "common/config/table.h"
#include "common/evaluation/corpus_scores.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/score_file.h"
#include "common/evaluation/score_file_writer.h"
#include "common/evaluation/score_timing.h"
#include "common/log/progress.h"
#include "common/models/inference.h"
#include "services/evaluator/scored_corpus.h"
#include "services/evaluator/scores_flags.h"

namespace sightline {
namespace {

constexpr int kSidecarVersion = 1;

std::string SumOf(const ChosenPairs& pairs) {
  Sha256 sum;
  for (const std::vector<int>& captions : pairs) {
    for (const int caption : captions) sum.Update(absl::StrCat(caption, " "));
    sum.Update("\n");
  }
  return sum.Hex();
}

// What is no number counts as none.
double NumberAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

class ScoresRun {
 public:
  ScoresRun(const ScoresFlags& flags, const ScoresPlan& plan)
      : flags_(flags),
        plan_(plan),
        threads_(flags.threads),
        progress_(Progress::OnStandardError(), Clock::Real()) {}

  // What it says to people.  To `err` goes what they should know before hours of work.
  absl::StatusOr<std::string> Run(std::ostream& err) {
    if (!plan_.directory.empty()) RETURN_IF_ERROR(MakeDirectories(plan_.directory));
    ASSIGN_OR_RETURN(ScoredCorpus corpus, OpenScoredCorpus(flags_, plan_));
    corpus_ = std::move(corpus.pairs);
    items_ = std::move(corpus.items);
    for (const std::string& note : corpus_->Notes()) err << note << "\n";
    err << PoolsNote(plan_.protocol, items_);
    RETURN_IF_ERROR(LoadOne());
    err << WidthNote();
    RETURN_IF_ERROR(Choose());
    RETURN_IF_ERROR(TakeUp());
    RETURN_IF_ERROR(MakeScorer());
    if (!flags_.time_only) RETURN_IF_ERROR(WritePairs());
    if (!flags_.time_only && !costs_.has_value()) RETURN_IF_ERROR(WriteMatrix());
    RETURN_IF_ERROR(TimeQueries());
    RETURN_IF_ERROR(WriteFileAtomically(TimingPath(flags_.out), Sidecar()));
    return Summary();
  }

 private:
  absl::Status LoadOne() {
    ASSIGN_OR_RETURN(const ModelBundle bundle, OpenNamedBundle(flags_.store, flags_.model));
    if ((flags_.without_regions || flags_.without_words) && !bundle.manifest.has_scene_text()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags_.without_regions ? "--without-regions" : "--without-words",
                       " is for models that read words in pictures, beside regions; model ",
                       bundle.id, " does not"));
    }
    ModelOptions options;
    options.pool = &threads_;
    options.deterministic = flags_.deterministic;
    options.execution.precision = flags_.precision;
    ASSIGN_OR_RETURN(model_, LoadModel(bundle, options));
    return absl::OkStatus();
  }

  std::string WidthNote() const {
    const std::string note = corpus_->NoteOfWidth(model_->region_feature_sizes());
    if (note.empty()) return "";
    return absl::StrCat(note,
                        "; scores mean something if the model learnt from regions of that kind\n");
  }

  // The pairs that a cross-encoder is to score, if not all.
  absl::Status Choose() {
    if (plan_.by == ScoredBy::kEmbeddings) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<EvaluationPool> pools, Pools());
    if (!flags_.candidates.empty()) {
      ASSIGN_OR_RETURN(const auto file, ScoreFile::Open(flags_.candidates, items_));
      ASSIGN_OR_RETURN(const NamedScores scores,
                       NamedScores::Create("candidates", {file->matrix()}));
      ASSIGN_OR_RETURN(chosen_, ChoosePairs(scores, pools, plan_.depth, &threads_));
    } else if (plan_.protocol.kind != PoolKind::kWhole) {
      chosen_ = PairsWithin(pools, corpus_->picture_count());
    }
    if (chosen_.has_value()) chosen_sum_ = SumOf(*chosen_);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<EvaluationPool>> Pools() const {
    ASSIGN_OR_RETURN(std::vector<EvaluationPool> pools, ReadPools(plan_.protocol, items_));
    if (!flags_.languages_apart) return pools;
    std::vector<EvaluationPool> apart;
    for (const EvaluationPool& pool : pools) {
      for (const std::string& language : items_.Languages()) {
        ASSIGN_OR_RETURN(apart.emplace_back(), InLanguage(pool, items_, language));
      }
    }
    return apart;
  }

  absl::Status MakeScorer() {
    const CallContext call = CallContext::Unbounded();
    ScorerOptions options;
    options.shows_regions = !flags_.without_regions;
    options.shows_words = !flags_.without_words;
    options.timed_pairs = plan_.timed_pairs;
    if (plan_.by == ScoredBy::kEmbeddings) {
      ASSIGN_OR_RETURN(
          scorer_, ScoreByEmbeddings(*model_, *corpus_, options, &threads_, &start_costs_, call));
    } else {
      ASSIGN_OR_RETURN(scorer_, ScoreByPairs(*model_, *corpus_, options, std::move(chosen_),
                                             &start_costs_, call));
    }
    return absl::OkStatus();
  }

  // All that the matrix follows from.
  std::string Job() const {
    std::string job =
        absl::StrCat("model ", model_->id(), " by ", flags_.by, " in ", flags_.precision,
                     flags_.deterministic ? " one by one" : "", " on ", corpus_->Digest(),
                     flags_.without_regions ? " without regions" : "",
                     flags_.without_words ? " without words" : "");
    if (chosen_sum_.empty()) return job;
    return absl::StrCat(job, ", the pairs ", chosen_sum_);
  }

  std::string JobSum() const { return Sha256Hex(Job()); }

  // A matrix of this job that an earlier run has written stays, and so does what it took.
  absl::Status TakeUp() {
    const std::string path = TimingPath(flags_.out);
    if (!FileExists(flags_.out) || !FileExists(path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTimingBytes));
    const auto json = nlohmann::json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
    const bool same = json.is_object() && json.value("job", nlohmann::json()) == JobSum();
    if (!same && flags_.time_only) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          " tells of a matrix that is there and that is not of this job; give another --out"));
    }
    if (!same || !ScoreFile::Open(flags_.out, items_).ok()) return absl::OkStatus();
    ScoreCosts costs;
    costs.encoding_seconds = NumberAt(json, "encoding_seconds");
    costs.scoring_seconds = NumberAt(json, "scoring_seconds");
    const auto pairs = json.find("pairs_scored");
    if (pairs != json.end() && pairs->is_number_integer()) costs.pairs = pairs->get<int64_t>();
    costs_ = costs;
    return absl::OkStatus();
  }

  // Matrices in one folder are of the same rows and columns, which one file says.
  absl::Status WritePairs() const {
    if (FileExists(plan_.pairs)) {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(plan_.pairs));
      const auto there = ParseMatrixItems(text);
      if (!there.ok() || ItemsDigest(*there) != ItemsDigest(items_)) {
        return absl::FailedPreconditionError(absl::StrCat(
            plan_.pairs,
            " is there and is not of these pictures and captions, and matrices may have been "
            "scored by it; give another name with --pairs, or remove it"));
      }
    }
    return WriteFileAtomically(plan_.pairs, FormatMatrixItems(items_));
  }

  absl::Status WriteMatrix() {
    const int64_t rows = corpus_->picture_count();
    ASSIGN_OR_RETURN(auto writer,
                     ScoreFileWriter::Open(flags_.out, rows, corpus_->caption_count(), Job()));
    progress_.Begin("score", "pictures", rows);
    progress_.Skip(writer->rows_done());
    ScoreCosts costs = start_costs_;
    while (writer->rows_done() < rows) {
      const int64_t begin = writer->rows_done();
      const int64_t end = std::min(rows, begin + scorer_->rows_at_once());
      ASSIGN_OR_RETURN(const std::vector<float> block,
                       scorer_->Score(begin, end, &costs, CallContext::Unbounded()));
      RETURN_IF_ERROR(writer->Append(block, costs));
      costs = ScoreCosts();
      progress_.Advance(end - begin);
    }
    progress_.End();
    // What is told beside the matrix is never another one's, whenever this ends.
    const std::string sidecar = TimingPath(flags_.out);
    if (std::remove(sidecar.c_str()) != 0 && errno != ENOENT) {
      return FileError("remove", sidecar, errno);
    }
    RETURN_IF_ERROR(writer->Commit());
    costs_ = writer->costs();
    return WriteFileAtomically(sidecar, Sidecar());
  }

  // Captions that come one at a time, evenly spread.
  absl::Status TimeQueries() {
    const int64_t count = std::min<int64_t>(flags_.timed_queries, corpus_->caption_count());
    if (count == 0) return absl::OkStatus();
    std::vector<TimedQuery> times;
    progress_.Begin("time", "queries", count);
    // The first is not counted: it finds nothing in the caches.
    for (int64_t i = -1; i < count; ++i) {
      const int64_t caption = std::max<int64_t>(i, 0) * corpus_->caption_count() / count;
      ASSIGN_OR_RETURN(const TimedQuery time,
                       scorer_->TimeQuery(caption, CallContext::Unbounded()));
      if (i < 0) continue;
      times.push_back(time);
      progress_.Advance(1);
    }
    progress_.End();
    std::vector<double> seconds;
    for (const TimedQuery& time : times) seconds.push_back(time.seconds);
    spread_ = SpreadOf(std::move(seconds));
    const auto middle = times.begin() + static_cast<int64_t>(times.size()) / 2;
    std::nth_element(
        times.begin(), middle, times.end(),
        [](const TimedQuery& a, const TimedQuery& b) { return a.seconds < b.seconds; });
    time_ = *middle;
    return absl::OkStatus();
  }

  bool Extrapolated() const { return time_.has_value() && time_->pairs < time_->needed_pairs; }

  std::string Sidecar() const {
    nlohmann::json json = {{"format_version", kSidecarVersion},
                           {"job", JobSum()},
                           {"items", ItemsDigest(items_)},
                           {"model", model_->id()},
                           {"by", flags_.by},
                           {"precision", flags_.precision},
                           {"regions", !flags_.without_regions},
                           {"words", !flags_.without_words},
                           {"threads", flags_.threads},
                           {"pictures", corpus_->picture_count()},
                           {"captions", corpus_->caption_count()}};
    if (plan_.by == ScoredBy::kPairs) {
      json["score_kind"] = ScoreKindName(model_->cross_encoder()->score_kind());
    }
    if (costs_.has_value()) {
      json["encoding_seconds"] = costs_->encoding_seconds;
      json["scoring_seconds"] = costs_->scoring_seconds;
      json["pairs_scored"] = costs_->pairs;
    }
    if (time_.has_value()) {
      json["seconds_per_query"] = time_->seconds;
      json["pairs_per_query"] = time_->needed_pairs;
      json["query_seconds"] = TimeSpreadJson(spread_);
      if (Extrapolated()) json["extrapolated_from"] = time_->pairs;
    }
    return json.dump(2) + "\n";
  }

  std::string Summary() const {
    std::string text = absl::StrCat(WithThousands(corpus_->picture_count()), " pictures, ",
                                    WithThousands(corpus_->caption_count()), " captions\n");
    if (costs_.has_value()) {
      absl::StrAppendFormat(&text, "%s pairs by %s: encoding %.1f s, scoring %.1f s\n",
                            WithThousands(costs_->pairs), flags_.by, costs_->encoding_seconds,
                            costs_->scoring_seconds);
    }
    if (time_.has_value()) {
      absl::StrAppendFormat(&text, "one caption alone: %.3g ms%s\n", 1e3 * time_->seconds,
                            Extrapolated() ? absl::StrCat(", extrapolated from ", time_->pairs,
                                                          " of ", time_->needed_pairs, " pairs")
                                           : "");
    }
    return text;
  }

  const ScoresFlags& flags_;
  const ScoresPlan& plan_;
  ComputePool threads_;
  Progress progress_;
  std::unique_ptr<PairCorpus> corpus_;
  MatrixItems items_;
  std::shared_ptr<const Model> model_;
  absl::optional<ChosenPairs> chosen_;
  std::string chosen_sum_;  // of the pairs, if not all are scored
  std::unique_ptr<CorpusScorer> scorer_;
  ScoreCosts start_costs_;
  absl::optional<ScoreCosts> costs_;  // of the matrix, if it is there
  absl::optional<TimedQuery> time_;   // the median
  TimeSpread spread_;
};

}  // namespace

int RunScores(const std::vector<std::string>& args, const Console& console) {
  ScoresFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kScoresCommand, &definitions, args, console, &words, &status)) return status;
  absl::StatusOr<ScoresPlan> plan = PlanScores(flags);
  if (plan.ok() && !words.empty()) {
    plan = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  if (!plan.ok()) {
    return UsageError(kScoresCommand, std::string(plan.status().message()), console);
  }
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  const absl::StatusOr<std::string> summary = ScoresRun(flags, *plan).Run(console.err);
  if (!summary.ok()) return Fail(summary.status(), console);
  console.out << *summary;
  return kSuccess;
}

}  // namespace sightline
