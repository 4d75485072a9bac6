#include "common/index/index_choice.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/rows_on_disk.h"
#include "common/index/calibration.h"
#include "common/index/choice_sample.h"
#include "common/index/effort_curve.h"
#include "common/index/index_kinds.h"
#include "common/index/shard_rows.h"
#include "common/index/spec_defaults.h"
#include "common/index/tried_index.h"
#include "common/log/log.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;
using bundle::v1::IndexSpec;

constexpr absl::string_view kFolder = "choice";
constexpr absl::string_view kTriedFile = "tried.json";
constexpr int64_t kMaxTriedBytes = int64_t{16} << 20;

std::string Named(const IndexSpec& spec) {
  std::string name = spec.kind();
  if (spec.has_ivf()) {
    absl::StrAppend(&name, " ", spec.ivf().code(), ", ", spec.ivf().list_count(), " lists, refine ",
                    spec.ivf().refine());
    if (spec.ivf().pq_parts() > 0) absl::StrAppend(&name, ", ", spec.ivf().pq_parts(), " parts");
  }
  if (spec.has_hnsw()) {
    absl::StrAppend(&name, " ", spec.hnsw().code(), ", ", spec.hnsw().link_count(), " links");
  }
  if (spec.rows_on_disk()) absl::StrAppend(&name, ", rows on disk");
  return name;
}

// Trials that are done, kept in a file.
class Ledger {
 public:
  // For the sample of `sample`.
  Ledger(std::string path, const GenerationManifest& sample)
      : path_(std::move(path)),
        key_(absl::StrCat(sample.shards(0).vectors().sha256(), " ",
                          sample.shards(0).probes().sha256())) {
    const absl::StatusOr<std::string> text = ReadFile(path_, kMaxTriedBytes);
    const nlohmann::json json = nlohmann::json::parse(text.ok() ? *text : "", /*cb=*/nullptr,
                                                      /*allow_exceptions=*/false);
    if (!json.is_object() || json.value("key", nlohmann::json()) != nlohmann::json(key_)) return;
    const nlohmann::json list = json.value("tried", nlohmann::json());
    if (!list.is_array()) return;
    for (const nlohmann::json& entry : list) {
      absl::optional<TriedIndex> tried = TriedOf(entry);
      if (tried.has_value()) tried_.push_back(*std::move(tried));
    }
  }

  const TriedIndex* Find(const IndexSpec& spec) const {
    const std::string wanted = ManifestJson(spec);
    const auto found = std::find_if(tried_.begin(), tried_.end(), [&](const TriedIndex& tried) {
      return ManifestJson(tried.spec) == wanted;
    });
    return found == tried_.end() ? nullptr : &*found;
  }

  absl::Status Add(TriedIndex tried) {
    tried_.push_back(std::move(tried));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const TriedIndex& each : tried_) list.push_back(TriedJson(each));
    const nlohmann::ordered_json json = {{"key", key_}, {"tried", list}};
    return WriteFileAtomically(path_, absl::StrCat(json.dump(2), "\n"));
  }

 private:
  const std::string path_;
  const std::string key_;
  std::vector<TriedIndex> tried_;
};

// Tries kinds on one sample.
class Trials {
 public:
  Trials(std::string folder, const GenerationManifest& sample, int64_t row_bytes,
         const IndexTarget& target, const IndexBuildOptions& build, ComputePool* pool,
         const CallContext& call)
      : folder_(std::move(folder)),
        sample_(sample),
        row_bytes_(row_bytes),
        target_(target),
        build_(build),
        pool_(pool),
        call_(call),
        ledger_(JoinPath(folder_, kTriedFile), sample) {}

  // With a verdict if it is out of the question.
  absl::StatusOr<TriedIndex> Try(const IndexTrial& trial) {
    GenerationManifest manifest = sample_;
    *manifest.mutable_index_spec() = SpecOf(trial);
    TriedIndex tried;
    tried.spec = manifest.index_spec();
    tried.bytes_per_item = static_cast<double>(RowBytesInMemory(tried.spec));
    if (IsTooLarge(tried)) return Judged(std::move(tried));
    if (const TriedIndex* known = ledger_.Find(tried.spec)) return Judged(*known);
    const auto plan = PlanIndexBuild(manifest, *trial.kind, build_, pool_->threads());
    if (absl::IsResourceExhausted(plan.status())) {
      tried.verdict = std::string(plan.status().message());
      return tried;
    }
    const absl::Time start = call_.clock()->Now();
    RETURN_IF_ERROR(BuildIndexes(folder_, *trial.kind, build_, pool_, call_, nullptr, &manifest));
    tried.build_seconds = absl::ToDoubleSeconds(call_.clock()->Now() - start);
    tried.bytes_per_item += static_cast<double>(trial.kind->footprint(manifest, 0)) /
                            static_cast<double>(manifest.item_count());
    if (trial.kind->exact) {
      ASSIGN_OR_RETURN(*manifest.mutable_shards(0)->add_efforts(),
                       TimeExact(*trial.kind, manifest));
    }
    const auto& efforts = manifest.shards(0).efforts();
    tried.efforts.assign(efforts.begin(), efforts.end());
    const EffortCurve curve(manifest.shards(0));
    // An exact one has one point, and no effort changes what it takes.
    const int effort = trial.kind->exact ? manifest.shards(0).efforts(0).effort()
                                         : curve.EffortFor(target_.recall, kRecallAmong);
    if (curve.RecallAt(effort, kRecallAmong) >= target_.recall) {
      tried.seconds = curve.SecondsAt(effort);
    }
    RETURN_IF_ERROR(ledger_.Add(tried));
    return Judged(std::move(tried));
  }

 private:
  IndexSpec SpecOf(const IndexTrial& trial) const {
    IndexSpec spec = trial.spec;
    spec.set_kind(trial.kind->name);
    spec.set_seed(target_.seed);
    spec.set_default_recall(target_.recall);
    const int64_t rows = sample_.item_count();
    if (trial.list_factor > 0) {
      spec.mutable_ivf()->set_list_count(ListCountFor(rows, trial.list_factor));
    }
    const int dimension = sample_.embedding().dimension();
    if (trial.numbers_of_part > 0) {
      const auto parts = static_cast<int>(dimension / trial.numbers_of_part);
      spec.mutable_ivf()->set_pq_parts(std::max(parts, 1));
    }
    FillIndexSpec(rows, dimension, &spec);
    return spec;
  }

  int64_t RowBytesInMemory(const IndexSpec& spec) const {
    return spec.rows_on_disk() ? RowsOnDisk::ByteCount(1) : row_bytes_;
  }

  bool IsTooLarge(const TriedIndex& tried) const {
    return target_.bytes_per_item > 0 &&
           tried.bytes_per_item > static_cast<double>(target_.bytes_per_item);
  }

  TriedIndex Judged(TriedIndex tried) const {
    if (IsTooLarge(tried)) {
      tried.verdict = absl::StrFormat("takes %.0f bytes an item or more, of %d",
                                      std::ceil(tried.bytes_per_item), target_.bytes_per_item);
    } else if (tried.seconds == 0) {
      tried.verdict = absl::StrFormat(
          "finds %.4f at most", tried.efforts.empty() ? 0 : tried.efforts.back().recall_at_10());
    }
    Log(Severity::kInfo, "index tried",
        {{"spec", Named(tried.spec)},
         {"bytes_per_item", tried.bytes_per_item},
         {"build_seconds", tried.build_seconds},
         {"query_seconds", tried.seconds},
         {"verdict", tried.verdict}});
    return tried;
  }

  absl::StatusOr<bundle::v1::EffortPoint> TimeExact(const IndexKind& kind,
                                                    const GenerationManifest& manifest) const {
    const RowPlace place =
        manifest.index_spec().rows_on_disk() ? RowPlace::kDisk : RowPlace::kMemory;
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardRows> rows,
                     ShardRows::Open(folder_, manifest, 0, place, call_));
    ASSIGN_OR_RETURN(const std::unique_ptr<VectorIndex> index,
                     kind.open(folder_, manifest, 0, rows->view(), pool_, call_));
    ASSIGN_OR_RETURN(
        const Probes probes,
        ReadProbes(JoinPath(folder_, manifest.shards(0).probes().path()), manifest, 0));
    bundle::v1::EffortPoint point;
    point.set_effort(1);
    point.set_recall_at_10(1);
    point.set_recall_at_100(1);
    ASSIGN_OR_RETURN(const double seconds,
                     MeasureSeconds(*index, probes, kDefaultEffort, build_.calibration, call_));
    point.set_seconds(seconds);
    return point;
  }

  const std::string folder_;
  const GenerationManifest& sample_;
  const int64_t row_bytes_;
  const IndexTarget& target_;
  const IndexBuildOptions& build_;
  ComputePool* const pool_;
  const CallContext& call_;
  Ledger ledger_;
};

bool MeetsTarget(const TriedIndex& tried) {
  return tried.verdict.empty();
}

// Of those that meet the target; of equally fast ones the smaller.
bool IsBetter(const TriedIndex& a, const TriedIndex& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.bytes_per_item < b.bytes_per_item;
}

absl::Status NothingMeets(const IndexTarget& target, const std::vector<TriedIndex>& tried) {
  std::string found;
  for (const TriedIndex& each : tried) {
    absl::StrAppend(&found, "\n  ", Named(each.spec), ": ", each.verdict);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no index finds ", target.recall, " of the ten best",
      target.bytes_per_item > 0 ? absl::StrCat(" in ", target.bytes_per_item, " bytes an item")
                                : "",
      "; ask for less recall, or allow more memory:", found));
}

absl::Status Choose(IndexChoice* choice) {
  std::vector<TriedIndex>& tried = choice->tried;
  const TriedIndex* best = nullptr;
  for (const TriedIndex& each : tried) {
    if (MeetsTarget(each) && (best == nullptr || IsBetter(each, *best))) best = &each;
  }
  if (best == nullptr) return NothingMeets(choice->target, tried);
  choice->chosen = static_cast<int>(best - tried.data());
  for (TriedIndex& each : tried) {
    if (MeetsTarget(each) && &each != best) {
      each.verdict = absl::StrFormat("takes %.2f times as long", each.seconds / best->seconds);
    }
  }
  tried[choice->chosen].verdict = "chosen";
  choice->spec = best->spec;
  if (choice->spec.has_ivf()) {
    const double factor =
        choice->spec.ivf().list_count() / std::sqrt(static_cast<double>(choice->sample_rows));
    choice->spec.mutable_ivf()->set_list_count(ListCountFor(choice->shard_rows, factor));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IndexChoice> ChooseIndex(absl::string_view directory,
                                        const GenerationManifest& manifest,
                                        const EmbeddingMatrix& queries, const IndexTarget& target,
                                        const std::vector<IndexTrial>& trials,
                                        const ChoiceOptions& options, ComputePool* pool,
                                        const CallContext& call, Progress* progress) {
  if (manifest.item_count() == 0 || queries.rows() == 0) {
    return absl::FailedPreconditionError(
        "an index is chosen by what its items and some queries tell; there are none: name a kind");
  }
  const std::string folder = JoinPath(IndexWorkFolder(directory), kFolder);
  RETURN_IF_ERROR(MakeDirectories(folder));
  ASSIGN_OR_RETURN(const GenerationManifest sample,
                   WriteSample(directory, manifest, options.sample_rows, target.seed, queries,
                               folder, pool, call));
  IndexChoice choice;
  choice.target = target;
  choice.sample_rows = sample.item_count();
  choice.shard_rows = GreatestShard(manifest);
  Trials tries(folder, sample, RowBytes(manifest), target, options.build, pool, call);
  if (progress != nullptr) {
    progress->Begin("try indexes", "indexes", static_cast<int64_t>(trials.size()));
  }
  for (const IndexTrial& trial : trials) {
    RETURN_IF_ERROR(call.Check("choosing an index"));
    ASSIGN_OR_RETURN(TriedIndex tried, tries.Try(trial));
    choice.tried.push_back(std::move(tried));
    if (progress != nullptr) progress->Advance(1);
  }
  if (progress != nullptr) progress->End();
  RETURN_IF_ERROR(Choose(&choice));
  return choice;
}

}  // namespace sightline
