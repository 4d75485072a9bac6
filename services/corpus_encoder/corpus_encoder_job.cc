#include "services/corpus_encoder/corpus_encoder_job.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/log/log.h"
#include "services/corpus_encoder/base_choice.h"
#include "services/corpus_encoder/corpus_checks.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/job_hashes.h"
#include "services/corpus_encoder/probe_queries.h"
#include "services/corpus_encoder/region_trial.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

// Enough to tell contents apart, short enough to be typed.
constexpr size_t kGenerationNameLength = 16;

}  // namespace

CorpusEncoderJob::CorpusEncoderJob(const CorpusEncoderOptions& options,
                                   std::vector<std::unique_ptr<CorpusReader>> corpora,
                                   CorpusModels models, const bundle::v1::EmbeddingSpec& embedding,
                                   DecoderPool* decoders, Clock* clock, Progress* progress)
    : options_(options),
      corpora_(std::move(corpora)),
      models_(std::move(models)),
      embedding_(embedding),
      decoders_(decoders),
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
  summary_.worker = options_.share.worker;
  summary_.workers = options_.share.workers;
  RETURN_IF_ERROR(CheckModelsForCorpus(models_));
  RETURN_IF_ERROR(CheckModelReads(*models_.encoder, corpora_));
  for (const CorpusModels::Reranker& reranker : models_.rerankers) {
    RETURN_IF_ERROR(CheckModelReads(*reranker.model, corpora_));
  }
  RETURN_IF_ERROR(MakeDirectories(work_directory_));

  Plan plan;
  plan.context.encoder = models_.encoder->id();
  for (const CorpusModels::Reranker& reranker : models_.rerankers) {
    plan.context.rerankers.push_back({reranker.name, reranker.model->id()});
  }
  plan.context.deterministic = options_.deterministic;
  plan.context.limits = options_.limits;
  plan.context.max_decode_time = decoders_->timeout();
  plan.context.caption_language = options_.caption_language;
  ASSIGN_OR_RETURN(WorkLock lock, WorkLock::Take(work_directory_, options_.share,
                                                 JobHash(options_, plan.context)));
  plan.lock = &lock;
  ASSIGN_OR_RETURN(CorpusScan scan, Scan(call));
  plan.content = ContentHash(scan, options_, embedding_.space(), plan.context);
  summary_.generation = options_.generation.empty() ? plan.content.substr(0, kGenerationNameLength)
                                                    : options_.generation;
  plan.picture_count = static_cast<int64_t>(scan.pictures.size() + scan.quarantine.size());
  plan.warnings = std::move(scan.warnings);
  plan.scan_files = std::move(scan.files);
  ASSIGN_OR_RETURN(const bool written, FindWritten(plan));
  if (written) return options_.share.writes() ? Publish(call) : absl::OkStatus();
  RETURN_IF_ERROR(TryRegions(models_, scan.pictures, options_.limits.max_bytes, call));

  RETURN_IF_ERROR(OpenBase(scan, plan, call));
  plan.corpus = DivideCorpus(std::move(scan.pictures), plan.base, plan.context);
  plan.units = CutIntoUnits(plan.corpus.fresh, options_.unit_size, plan.context);
  summary_.unit_count = static_cast<int64_t>(plan.units.size());
  summary_.carried_image_count = static_cast<int64_t>(plan.corpus.carried.size());
  for (const CarriedPicture& picture : plan.corpus.carried) {
    summary_.carried_caption_count += static_cast<int64_t>(picture.captions.size());
  }
  RETURN_IF_ERROR(EncodeOwnUnits(plan, call));
  if (!options_.share.writes()) return absl::OkStatus();
  RETURN_IF_ERROR(CollectAll(plan, call));
  RETURN_IF_ERROR(CheckQuarantine(plan));
  RETURN_IF_ERROR(Write(plan, call));
  RETURN_IF_ERROR(Publish(call));
  RemoveStaleFiles(work_directory_, WantedFiles(plan), lock);
  return absl::OkStatus();
}

absl::StatusOr<CorpusScan> CorpusEncoderJob::Scan(const CallContext& call) {
  const absl::Time start = clock_->Now();
  ScanOptions options;
  options.threads = options_.read_threads;
  options.max_picture_bytes = options_.limits.max_bytes;
  options.share = options_.share;
  options.work_directory = work_directory_;
  options.await = options_.await;
  ASSIGN_OR_RETURN(CorpusScan scan, ScanCorpora(corpora_, options, call, progress_));
  summary_.await_time = scan.await_time;
  summary_.scan_time = clock_->Now() - start - scan.await_time;
  scanned_.time = summary_.scan_time;
  scanned_.byte_count = scan.byte_count;
  scanned_.item_count = scan.read_count;
  summary_.read = scanned_;

  std::vector<CorpusProblem> duplicates = FindDuplicates(scan.pictures);
  summary_.duplicate_count = static_cast<int64_t>(duplicates.size());
  std::move(duplicates.begin(), duplicates.end(), std::back_inserter(scan.warnings));
  summary_.warning_count = static_cast<int64_t>(scan.warnings.size());
  LogWarnings(scan.warnings);
  scan_quarantine_ = scan.quarantine;
  return scan;
}

absl::StatusOr<bool> CorpusEncoderJob::FindWritten(const Plan& plan) {
  WrittenGeneration found[2];
  const std::string* const indexes[2] = {&options_.images_index, &options_.captions_index};
  bool all = true;
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<WrittenGeneration> written =
        FindWrittenGeneration(options_.store, *indexes[i], summary_.generation, plan.content);
    if (!written.ok() && !absl::IsNotFound(written.status())) return written.status();
    all = all && written.ok();
    if (written.ok()) found[i] = *written;
  }
  if (!all) return false;
  summary_.already_there = true;
  summary_.image_count = found[0].item_count;
  summary_.caption_count = found[1].item_count;
  summary_.quarantined_image_count = found[0].quarantined_count;
  summary_.quarantined_caption_count = found[1].quarantined_count;
  return true;
}

absl::Status CorpusEncoderJob::OpenBase(const CorpusScan& scan, Plan& plan,
                                        const CallContext& call) {
  BaseChoice choice;
  choice.store = options_.store;
  choice.images_index = options_.images_index;
  choice.captions_index = options_.captions_index;
  choice.base = options_.base;
  choice.required.embedding = embedding_;
  choice.required.encoder_model = plan.context.encoder;
  choice.required.rerankers = plan.context.rerankers;
  choice.agreement_path = JoinPath(
      work_directory_, absl::StrCat(plan.content.substr(0, kGenerationNameLength), ".base"));
  choice.carries = [&](const BaseGeneration& base) {
    return CarriesAny(scan.pictures, base, plan.context);
  };
  choice.share = options_.share;
  choice.lock = plan.lock;
  ASSIGN_OR_RETURN(plan.base, ChooseBase(choice, call));
  summary_.base = plan.base.name();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WorkUnit>> CorpusEncoderJob::FindMissing(Whose whose, Plan& plan,
                                                                    const CallContext& call) {
  std::vector<WorkUnit> missing;
  for (const WorkUnit& unit : plan.units) {
    RETURN_IF_ERROR(call.Check("looking for finished units"));
    if (plan.checked_units.count(unit.hash) > 0) continue;
    if (whose == Whose::kOwn && !options_.share.Owns(unit.hash)) continue;
    const std::string path = UnitFilePath(work_directory_, unit.hash);
    const absl::StatusOr<std::unique_ptr<UnitFile>> file =
        UnitFile::Open(path, unit.hash, embedding_.dimension(), /*verify=*/true);
    const absl::Status found = file.status();
    if (found.ok() && (*file)->may_pass()) {
      missing.push_back(unit);
    } else if (found.ok()) {
      plan.checked_units.insert(unit.hash);
      ++finished_unit_count_;
      ++summary_.reused_unit_count;
      progress_->Skip(static_cast<int64_t>(unit.pictures.size()));
    } else if (absl::IsNotFound(found)) {
      missing.push_back(unit);
    } else if (absl::IsDataLoss(found) || absl::IsFailedPrecondition(found)) {
      // Damaged, or of a newer format: it can be made again.
      Log(Severity::kWarning, "unit file is made anew", {{"path", path}, {"error", found}});
      missing.push_back(unit);
    } else {
      return found;
    }
  }
  return missing;
}

absl::Status CorpusEncoderJob::EncodeOwnUnits(Plan& plan, const CallContext& call) {
  int64_t picture_count = 0;
  for (const WorkUnit& unit : plan.units) {
    if (!options_.share.Owns(unit.hash)) continue;
    picture_count += static_cast<int64_t>(unit.pictures.size());
  }
  progress_->Begin("encode", "pictures", picture_count);
  ASSIGN_OR_RETURN(const std::vector<WorkUnit> missing, FindMissing(Whose::kOwn, plan, call));
  RETURN_IF_ERROR(EncodeMissing(missing, plan, call));
  progress_->End();
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::EncodeMissing(const std::vector<WorkUnit>& missing, Plan& plan,
                                             const CallContext& call) {
  PipelineOptions pipeline_options;
  pipeline_options.threads = options_.decode_threads;
  pipeline_options.max_decode_bytes = options_.max_decode_bytes;
  pipeline_options.limits = options_.limits;
  if (AnyHasRegions(corpora_)) pipeline_options.units_ahead = 0;  // read while one is encoded
  // A scan that is wrong about a picture would be believed by every later run.
  pipeline_options.on_change = [&](const ScannedPicture& picture) {
    if (picture.scan_file >= plan.scan_files.size()) return;
    ::unlink(JoinPath(work_directory_, plan.scan_files[picture.scan_file]).c_str());
  };
  PicturePipeline pipeline(missing, pipeline_options, models_.extractors(), decoders_, call);
  for (const WorkUnit& unit : missing) {
    const absl::Time start = clock_->Now();
    ASSIGN_OR_RETURN(std::vector<DecodedPicture> pictures, pipeline.Next());
    const absl::Time decoded = clock_->Now();
    ASSIGN_OR_RETURN(const UnitResult result, EncodeUnit(models_, unit, std::move(pictures),
                                                         options_.caption_language, call));
    ASSIGN_OR_RETURN(const int64_t byte_count,
                     WriteUnitFile(UnitFilePath(work_directory_, unit.hash), unit.hash,
                                   embedding_.dimension(), result));
    plan.checked_units.insert(unit.hash);
    ++finished_unit_count_;
    summary_.wait_time += decoded - start;
    summary_.encode.time += clock_->Now() - decoded;
    summary_.encode.byte_count += byte_count;
    summary_.encoded_image_count += static_cast<int64_t>(result.images.size());
    summary_.encoded_caption_count += static_cast<int64_t>(result.captions.size());
    summary_.encode.item_count = summary_.encoded_image_count + summary_.encoded_caption_count;
    NotePipeline(pipeline);
    progress_->Detail(summary_.Rates());
    progress_->Advance(static_cast<int64_t>(unit.pictures.size()));
  }
  return absl::OkStatus();
}

void CorpusEncoderJob::NotePipeline(const PicturePipeline& pipeline) {
  constexpr int64_t kBytesPerPixel = 3;
  const PicturePipeline::Stats stats = pipeline.stats();
  summary_.read = {scanned_.item_count + stats.picture_count,
                   scanned_.byte_count + stats.byte_count,
                   scanned_.time + stats.read_time / options_.decode_threads};
  summary_.decode = {stats.decoded_count, stats.pixel_count * kBytesPerPixel,
                     stats.decode_time / options_.decode_threads};
  summary_.lost_decoder_count = decoders_->lost_count();
}

absl::Status CorpusEncoderJob::AwaitUnits(Plan& plan, const CallContext& call) {
  const absl::Time start = clock_->Now();
  std::vector<WorkPiece> of_others;
  for (const WorkUnit& unit : plan.units) {
    if (options_.share.Owns(unit.hash)) continue;
    of_others.push_back({unit.hash, absl::StrCat(unit.hash, ".unit")});
  }
  const absl::Status status = AwaitPieces(work_directory_, std::move(of_others), "units",
                                          options_.share, options_.await, call, progress_);
  summary_.await_time += clock_->Now() - start;
  return absl::IsDeadlineExceeded(status) ? EncodeForOthers(status, plan, call) : status;
}

absl::Status CorpusEncoderJob::EncodeForOthers(const absl::Status& why, Plan& plan,
                                               const CallContext& call) {
  // A worker that has ended well is not started again by anybody.
  if (call.expired() || options_.share.workers == 1 || !plan.lock->alone()) return why;
  Log(Severity::kWarning, "nobody else is at work: the units of other workers are made here",
      {{"reason", why}});
  ASSIGN_OR_RETURN(const std::vector<WorkUnit> missing, FindMissing(Whose::kAll, plan, call));
  return EncodeMissing(missing, plan, call);
}

absl::StatusOr<GenerationItems> CorpusEncoderJob::Collect(const Plan& plan,
                                                          const CallContext& call) {
  CollectOptions options;
  options.work_directory = work_directory_;
  options.dimension = embedding_.dimension();
  options.caption_language = options_.caption_language;
  options.checked = plan.checked_units;
  return CollectItems(plan.units, plan.corpus.carried, plan.base, options, call);
}

absl::Status CorpusEncoderJob::CollectAll(Plan& plan, const CallContext& call) {
  RETURN_IF_ERROR(AwaitUnits(plan, call));
  absl::StatusOr<GenerationItems> items = Collect(plan, call);
  if (absl::IsDataLoss(items.status())) {
    RETURN_IF_ERROR(EncodeForOthers(items.status(), plan, call));
    items = Collect(plan, call);
  }
  RETURN_IF_ERROR(items.status());
  plan.items = *std::move(items);
  plan.items.bad_images.insert(plan.items.bad_images.end(), scan_quarantine_.begin(),
                               scan_quarantine_.end());
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::CheckQuarantine(const Plan& plan) {
  const GenerationItems& items = plan.items;
  summary_.quarantined_image_count = static_cast<int64_t>(items.bad_images.size());
  summary_.quarantined_caption_count = static_cast<int64_t>(items.bad_captions.size());
  absl::Status status = CheckQuarantineShare("pictures", items.bad_images, plan.picture_count,
                                             options_.max_quarantine_share);
  if (status.ok()) {
    status = CheckQuarantineShare("captions", items.bad_captions, items.caption_count,
                                  options_.max_quarantine_share);
  }
  if (status.ok()) status = CheckSomeAreGood("pictures", items.bad_images, plan.picture_count);
  if (status.ok()) return status;
  std::vector<QuarantineEntry> all = items.bad_images;
  all.insert(all.end(), items.bad_captions.begin(), items.bad_captions.end());
  const std::string path = JoinPath(work_directory_, kQuarantineFile);
  RETURN_IF_ERROR(WriteFileAtomically(path, QuarantineJsonLines(std::move(all))));
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), ".  All of them are in ", path));
}

absl::Status CorpusEncoderJob::Write(const Plan& plan, const CallContext& call) {
  const absl::Time start = clock_->Now();
  GenerationSpec spec;
  spec.store = options_.store;
  spec.content = plan.content;
  spec.generation = summary_.generation;
  spec.parent = plan.base.name();
  spec.shard_count = options_.shard_count;
  spec.embedding = embedding_;
  spec.encoder_model = plan.context.encoder;
  spec.rerankers = plan.context.rerankers;
  spec.sources.units = plan.units;
  spec.sources.work_directory = work_directory_;
  spec.sources.context = plan.context;
  spec.sources.dimension = embedding_.dimension();

  spec.recall.floor = options_.recall_floor;
  spec.threads = options_.decode_threads;
  spec.sources.item_kind = bundle::v1::IMAGE;
  spec.sources.base = plan.base.images.get();
  ASSIGN_OR_RETURN(EmbeddingMatrix pictures,
                   ProbeQueries(plan.items.images, spec.sources, kProbeQueryCount, call));
  ItemSources captions_sources = spec.sources;
  captions_sources.item_kind = bundle::v1::CAPTION;
  captions_sources.base = plan.base.captions.get();
  ASSIGN_OR_RETURN(EmbeddingMatrix questions,
                   ProbeQueries(plan.items.captions, captions_sources, kProbeQueryCount, call));

  spec.index = options_.images_index;
  spec.probe_queries = std::move(questions);
  spec.quarantine = QuarantineJsonLines(plan.items.bad_images);
  spec.warnings = ProblemJsonLines(plan.warnings);
  ASSIGN_OR_RETURN(const WrittenGeneration images,
                   WriteGeneration(spec, plan.items.images, call, progress_));
  spec.index = options_.captions_index;
  spec.probe_queries = std::move(pictures);
  spec.sources = captions_sources;
  spec.quarantine = QuarantineJsonLines(plan.items.bad_captions);
  spec.warnings = "";
  ASSIGN_OR_RETURN(const WrittenGeneration captions,
                   WriteGeneration(spec, plan.items.captions, call, progress_));

  summary_.image_count = images.item_count;
  summary_.caption_count = captions.item_count;
  for (const WrittenGeneration& written : {images, captions}) {
    if (written.already_there) continue;
    summary_.write.item_count += written.item_count;
    summary_.write.byte_count += written.byte_count;
  }
  summary_.write.time = clock_->Now() - start;
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::Publish(const CallContext& call) {
  if (!options_.publish) return absl::OkStatus();
  RETURN_IF_ERROR(call.Check("publishing"));
  for (const std::string& index : {options_.images_index, options_.captions_index}) {
    ASSIGN_OR_RETURN(const bool current, PublishWritten(options_.store, index, summary_.generation,
                                                        summary_.already_there));
    summary_.rolled_back = summary_.rolled_back || !current;
  }
  summary_.published = !summary_.rolled_back;
  return absl::OkStatus();
}

std::set<std::string> CorpusEncoderJob::WantedFiles(const Plan& plan) const {
  std::set<std::string> wanted(plan.scan_files.begin(), plan.scan_files.end());
  for (const WorkUnit& unit : plan.units) wanted.insert(absl::StrCat(unit.hash, ".unit"));
  return wanted;
}

}  // namespace sightline
