#include "services/corpus_encoder/corpus_encoder_job.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/log/log.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/picture_pipeline.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/work_lock.h"

namespace sightline {
namespace {

// Enough to tell contents apart, short enough to be typed.
constexpr size_t kGenerationNameLength = 16;

std::string PerSecond(double amount, absl::Duration time, absl::string_view unit) {
  const double seconds = absl::ToDoubleSeconds(time);
  return seconds > 0 ? absl::StrFormat("%.1f %s/s", amount / seconds, unit) : "-";
}

void LogWarnings(const std::vector<CorpusProblem>& warnings) {
  constexpr size_t kMostLogged = 20;
  for (size_t i = 0; i < std::min(kMostLogged, warnings.size()); ++i) {
    Log(Severity::kWarning, "item is incomplete",
        {{"item_id", warnings[i].item_id},
         {"path", warnings[i].path},
         {"reason", warnings[i].reason}});
  }
  if (warnings.size() > kMostLogged) {
    Log(Severity::kWarning, "more items are incomplete",
        {{"count", warnings.size() - kMostLogged}});
  }
}

}  // namespace

std::string EncodeSummary::Report() const {
  constexpr double kMega = 1e6;
  return absl::StrCat(
      "generation ", generation, published ? " (published)" : "", "\n",
      absl::StrFormat("  items     %d images, %d captions; in quarantine %d images, %d captions\n",
                      image_count, caption_count, quarantined_image_count,
                      quarantined_caption_count),
      absl::StrFormat("  units     %d, of which %d were finished by an earlier run\n", unit_count,
                      reused_unit_count),
      "  read      ", PerSecond(read_byte_count / kMega, scan_time, "MB"), "\n  decode    ",
      PerSecond(pixel_count / kMega, decode_time, "megapixels"), " a thread\n  encode    ",
      PerSecond(encoded_image_count + encoded_caption_count, encode_time, "items"),
      absl::StrFormat("; waited %.1f s for pictures\n", absl::ToDoubleSeconds(wait_time)),
      absl::StrFormat("  write     %.1f MB, ", written_byte_count / kMega),
      PerSecond(written_byte_count / kMega, write_time, "MB"), "\n");
}

CorpusEncoderJob::CorpusEncoderJob(const CorpusEncoderOptions& options,
                                   std::vector<std::unique_ptr<CorpusReader>> corpora,
                                   CorpusModels models, const bundle::v1::EmbeddingSpec& embedding,
                                   Clock* clock, Progress* progress)
    : options_(options),
      corpora_(std::move(corpora)),
      models_(std::move(models)),
      embedding_(embedding),
      clock_(clock),
      progress_(progress),
      work_directory_(JoinPath(JoinPath(options.store, "work"), options.images_index)) {}

absl::StatusOr<EncodeSummary> CorpusEncoderJob::Run(const CallContext& call) {
  const absl::Status status = RunSteps(call);
  if (status.ok()) return summary_;
  if (!absl::IsCancelled(status)) return status;
  return absl::CancelledError(absl::StrFormat(
      "stopped on request with %d of %d units finished; run the same command again to go on",
      finished_unit_count_, summary_.unit_count));
}

absl::Status CorpusEncoderJob::RunSteps(const CallContext& call) {
  RETURN_IF_ERROR(CheckModelsForCorpus(models_));
  RETURN_IF_ERROR(MakeDirectories(work_directory_));
  ASSIGN_OR_RETURN(const WorkLock lock, WorkLock::Take(work_directory_));

  const absl::Time start = clock_->Now();
  ScanOptions scan_options;
  scan_options.threads = options_.read_threads;
  scan_options.max_picture_bytes = options_.limits.max_bytes;
  ASSIGN_OR_RETURN(const CorpusScan scan, ScanCorpora(corpora_, scan_options, call, progress_));
  summary_.scan_time = clock_->Now() - start;
  summary_.read_byte_count = scan.byte_count;
  summary_.warning_count = static_cast<int64_t>(scan.warnings.size());
  LogWarnings(scan.warnings);

  UnitContext context;
  context.encoder = models_.encoder->id();
  if (models_.reranker != nullptr) context.reranker = models_.reranker->id();
  context.deterministic = options_.deterministic;
  context.limits = options_.limits;
  context.caption_language = options_.caption_language;
  const std::vector<WorkUnit> units = CutIntoUnits(scan.pictures, options_.unit_size, context);
  summary_.unit_count = static_cast<int64_t>(units.size());
  bad_images_ = scan.quarantine;
  RETURN_IF_ERROR(EncodeMissing(units, call));
  RETURN_IF_ERROR(CheckQuarantine(scan));
  RETURN_IF_ERROR(WriteAndPublish(scan, units, call));
  RemoveStaleUnits(units);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WorkUnit>> CorpusEncoderJob::FindMissing(
    const std::vector<WorkUnit>& units, const CallContext& call) {
  std::vector<WorkUnit> missing;
  for (const WorkUnit& unit : units) {
    RETURN_IF_ERROR(call.Check("looking for finished units"));
    const std::string path = UnitFilePath(work_directory_, unit.hash);
    const absl::StatusOr<UnitResult> result =
        ReadUnitFile(path, unit.hash, embedding_.dimension(), /*verify=*/true);
    if (result.ok()) {
      TakeNote(unit, *result);
      ++summary_.reused_unit_count;
      progress_->Skip(static_cast<int64_t>(unit.pictures.size()));
    } else if (absl::IsNotFound(result.status())) {
      missing.push_back(unit);
    } else if (absl::IsDataLoss(result.status()) || absl::IsFailedPrecondition(result.status())) {
      // Damaged, or of a newer format: it can be made again.
      Log(Severity::kWarning, "unit file is made anew",
          {{"path", path}, {"error", result.status()}});
      missing.push_back(unit);
    } else {
      return result.status();
    }
  }
  return missing;
}

absl::Status CorpusEncoderJob::EncodeMissing(const std::vector<WorkUnit>& units,
                                             const CallContext& call) {
  int64_t picture_count = 0;
  for (const WorkUnit& unit : units) picture_count += static_cast<int64_t>(unit.pictures.size());
  progress_->Begin("encode", "pictures", picture_count);
  ASSIGN_OR_RETURN(const std::vector<WorkUnit> missing, FindMissing(units, call));

  PipelineOptions pipeline_options;
  pipeline_options.threads = options_.decode_threads;
  pipeline_options.max_decode_bytes = options_.max_decode_bytes;
  pipeline_options.limits = options_.limits;
  PicturePipeline pipeline(missing, pipeline_options, models_.extractors(), call);
  for (const WorkUnit& unit : missing) {
    const absl::Time start = clock_->Now();
    ASSIGN_OR_RETURN(std::vector<DecodedPicture> pictures, pipeline.Next());
    const absl::Time decoded = clock_->Now();
    ASSIGN_OR_RETURN(const UnitResult result, EncodeUnit(models_, unit, std::move(pictures),
                                                         options_.caption_language, call));
    summary_.wait_time += decoded - start;
    summary_.encode_time += clock_->Now() - decoded;
    RETURN_IF_ERROR(WriteUnitFile(UnitFilePath(work_directory_, unit.hash), unit.hash,
                                  embedding_.dimension(), result));
    TakeNote(unit, result);
    summary_.encoded_image_count += static_cast<int64_t>(result.images.size());
    summary_.encoded_caption_count += static_cast<int64_t>(result.captions.size());
    progress_->Advance(static_cast<int64_t>(unit.pictures.size()));
  }
  progress_->End();
  const PicturePipeline::Stats stats = pipeline.stats();
  summary_.pixel_count = stats.pixel_count;
  summary_.decode_time = stats.decode_time;
  return absl::OkStatus();
}

void CorpusEncoderJob::TakeNote(const WorkUnit& unit, const UnitResult& result) {
  ++finished_unit_count_;
  for (size_t i = 0; i < std::min(result.images.size(), unit.pictures.size()); ++i) {
    const UnitRow& row = result.images[i];
    if (!row.rejected.empty()) {
      bad_images_.push_back({row.item_id, unit.pictures[i].item.path, row.rejected});
    }
  }
  seen_caption_count_ += static_cast<int64_t>(result.captions.size());
  for (const UnitRow& row : result.captions) {
    if (!row.rejected.empty()) bad_captions_.push_back({row.item_id, "", row.rejected});
  }
}

absl::Status CorpusEncoderJob::CheckQuarantine(const CorpusScan& scan) {
  summary_.quarantined_image_count = static_cast<int64_t>(bad_images_.size());
  summary_.quarantined_caption_count = static_cast<int64_t>(bad_captions_.size());
  const int64_t image_count = static_cast<int64_t>(scan.pictures.size() + scan.quarantine.size());
  absl::Status status =
      CheckQuarantineShare("pictures", bad_images_, image_count, options_.max_quarantine_share);
  if (status.ok()) {
    status = CheckQuarantineShare("captions", bad_captions_, seen_caption_count_,
                                  options_.max_quarantine_share);
  }
  if (status.ok() && summary_.quarantined_image_count == image_count) {
    status = absl::FailedPreconditionError(
        absl::StrCat("all ", image_count, " pictures are bad; the first: ", bad_images_[0].item_id,
                     ": ", bad_images_[0].reason));
  }
  if (status.ok()) return status;
  std::vector<QuarantineEntry> all = bad_images_;
  all.insert(all.end(), bad_captions_.begin(), bad_captions_.end());
  const std::string path = JoinPath(work_directory_, kQuarantineFile);
  RETURN_IF_ERROR(WriteFileAtomically(path, QuarantineJsonLines(std::move(all))));
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), ".  All of them are in ", path));
}

std::string CorpusEncoderJob::ContentHash(const CorpusScan& scan,
                                          const std::vector<WorkUnit>& units) const {
  FieldHash hash;
  hash.Add("sightline corpus 1");
  hash.AddNumber(options_.shard_count);
  hash.Add(embedding_.space());
  for (const WorkUnit& unit : units) hash.Add(unit.hash);
  // What the records hold beyond what the units know of.
  for (const ScannedPicture& picture : scan.pictures) {
    hash.Add(picture.item.path);
    hash.AddNumber(static_cast<int64_t>(picture.item.tags.size()));
    for (const std::string& tag : picture.item.tags) hash.Add(tag);
  }
  hash.Add(QuarantineJsonLines(scan.quarantine));
  return hash.Hex();
}

absl::Status CorpusEncoderJob::WriteAndPublish(const CorpusScan& scan,
                                               const std::vector<WorkUnit>& units,
                                               const CallContext& call) {
  const absl::Time start = clock_->Now();
  GenerationSpec spec;
  spec.store = options_.store;
  spec.content = ContentHash(scan, units);
  spec.generation = options_.generation.empty() ? spec.content.substr(0, kGenerationNameLength)
                                                : options_.generation;
  spec.shard_count = options_.shard_count;
  spec.embedding = embedding_;
  spec.encoder_model = models_.encoder->id();
  if (models_.reranker != nullptr) spec.reranker_model = models_.reranker->id();
  spec.work_directory = work_directory_;
  spec.caption_language = options_.caption_language;

  spec.index = options_.images_index;
  spec.item_kind = bundle::v1::IMAGE;
  spec.quarantine = QuarantineJsonLines(bad_images_);
  ASSIGN_OR_RETURN(const WrittenGeneration images, WriteGeneration(spec, units, call, progress_));
  spec.index = options_.captions_index;
  spec.item_kind = bundle::v1::CAPTION;
  spec.quarantine = QuarantineJsonLines(bad_captions_);
  ASSIGN_OR_RETURN(const WrittenGeneration captions, WriteGeneration(spec, units, call, progress_));

  summary_.generation = spec.generation;
  summary_.image_count = images.item_count;
  summary_.caption_count = captions.item_count;
  for (const WrittenGeneration& written : {images, captions}) {
    if (!written.already_there) summary_.written_byte_count += written.byte_count;
  }
  summary_.write_time = clock_->Now() - start;
  if (!options_.publish) return absl::OkStatus();
  RETURN_IF_ERROR(call.Check("publishing"));
  for (const std::string& index : {options_.images_index, options_.captions_index}) {
    const absl::StatusOr<bundle::v1::CurrentGeneration> current =
        ReadCurrent(options_.store, index);
    if (current.ok() && current->generation() == spec.generation) continue;
    RETURN_IF_ERROR(PublishGeneration(options_.store, index, spec.generation).status());
  }
  summary_.published = true;
  return absl::OkStatus();
}

void CorpusEncoderJob::RemoveStaleUnits(const std::vector<WorkUnit>& units) const {
  std::set<std::string> wanted;
  for (const WorkUnit& unit : units) wanted.insert(absl::StrCat(unit.hash, ".unit"));
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(work_directory_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!absl::StrContains(name, ".unit") || wanted.count(name) > 0) continue;
    std::error_code ignored;  // a file that stays costs space, nothing else
    std::filesystem::remove(JoinPath(work_directory_, name), ignored);
  }
}

}  // namespace sightline
