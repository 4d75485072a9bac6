#include "services/corpus_encoder/corpus_encoder_job.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/index/index_builder.h"
#include "common/index/probe_queries.h"
#include "common/indexing/index_settings.h"
#include "common/log/log.h"
#include "common/object_store/upload.h"
#include "services/corpus_encoder/base_choice.h"
#include "services/corpus_encoder/corpus_checks.h"
#include "services/corpus_encoder/corpus_division.h"
#include "services/corpus_encoder/job_hashes.h"
#include "services/corpus_encoder/region_trial.h"
#include "services/corpus_encoder/unit_work.h"

namespace sightline {
namespace {

// Enough to tell contents apart, short enough to be typed.
constexpr size_t kGenerationNameLength = 16;

CorpusModels KeptAs(Dtype feature_dtype, CorpusModels models) {
  models.feature_dtype = feature_dtype;
  return models;
}

}  // namespace

struct CorpusEncoderJob::Plan {
  Plan(WorkFolder work_folder, WorkLock* work_lock, WorkTally* work_tally, UnitContext unit_context,
       CorpusScan corpus_scan)
      : folder(std::move(work_folder)),
        lock(work_lock),
        tally(work_tally),
        context(std::move(unit_context)),
        scan(std::move(corpus_scan)) {}

  const WorkFolder folder;
  WorkLock* const lock;  // held as long as the job runs
  WorkTally* const tally;
  const UnitContext context;
  CorpusScan scan;
  std::string content;  // hash of all that the generation depends on
  BaseGeneration base;
  absl::optional<CorpusDivision> division;  // none while it is not known
  std::unique_ptr<UnitWork> unit_work;
  std::unique_ptr<RowWork> row_work;
};

CorpusEncoderJob::CorpusEncoderJob(const CorpusEncoderOptions& options,
                                   std::vector<std::unique_ptr<CorpusReader>> corpora,
                                   CorpusModels models, const bundle::v1::EmbeddingSpec& embedding,
                                   DecoderPool* decoders, Clock* clock, Progress* progress)
    : options_(options),
      corpora_(std::move(corpora)),
      models_(KeptAs(options.feature_dtype, std::move(models))),
      embedding_(embedding),
      decoders_(decoders),
      clock_(clock),
      progress_(progress),
      work_directory_(WorkDirectory(options.store, options.images_index)) {}

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
  RETURN_IF_ERROR(CheckIndexWish(options_.index, embedding_.dimension()));
  RETURN_IF_ERROR(CheckModelsForCorpus(models_));
  RETURN_IF_ERROR(CheckModelReads(*models_.encoder, corpora_));
  for (const CorpusModels::Reranker& reranker : models_.rerankers) {
    RETURN_IF_ERROR(CheckModelReads(*reranker.model, corpora_));
  }
  ASSIGN_OR_RETURN(const WorkFolder folder, WorkFolder::Open(work_directory_));
  UnitContext context = ContextOf(models_, options_, decoders_->timeout());
  ASSIGN_OR_RETURN(WorkLock lock,
                   WorkLock::Take(work_directory_, options_.share, JobHash(options_, context)));
  WorkTally tally(folder, options_.share);
  ASSIGN_OR_RETURN(CorpusScan scan, Scan(folder, tally, call));
  Plan plan(folder, &lock, &tally, std::move(context), std::move(scan));
  ASSIGN_OR_RETURN(plan.content,
                   ContentHash(plan.scan, options_, embedding_.space(), plan.context, tally, call));
  summary_.generation = options_.generation.empty() ? plan.content.substr(0, kGenerationNameLength)
                                                    : options_.generation;
  ASSIGN_OR_RETURN(const bool written, FindWritten(plan));
  if (!written) RETURN_IF_ERROR(MakeGeneration(plan, call));
  if (options_.share.writes()) RETURN_IF_ERROR(Publish(call));
  return CleanUp(plan);
}

absl::Status CorpusEncoderJob::MakeGeneration(Plan& plan, const CallContext& call) {
  RETURN_IF_ERROR(TryRegions(models_, plan.scan.pictures, options_.limits.max_bytes, call));
  RETURN_IF_ERROR(OpenBase(plan, call));
  RETURN_IF_ERROR(Divide(plan, call));
  RETURN_IF_ERROR(MakeOwnUnits(plan, call));
  RETURN_IF_ERROR(MakeRows(options_.share.worker, plan, call));
  for (bool done = false; !done;) {
    RETURN_IF_ERROR(AwaitRows(plan, call));
    ASSIGN_OR_RETURN(absl::optional<GenerationRows> rows, CollectAll(plan, call));
    if (rows.has_value()) {
      RETURN_IF_ERROR(CheckQuarantine(plan, *rows));
      ASSIGN_OR_RETURN(done, Write(plan, *rows, call));
    }
    // Another worker may have found that our seal does not hold.
    const int self = options_.share.worker;
    if (!done && !FileExists(plan.row_work->SealPath(self))) {
      RETURN_IF_ERROR(MakeRows(self, plan, call));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CorpusScan> CorpusEncoderJob::Scan(const WorkFolder& folder, WorkTally& tally,
                                                  const CallContext& call) {
  const absl::Time start = clock_->Now();
  ASSIGN_OR_RETURN(CorpusScan scan,
                   ScanCorpora(corpora_, folder, options_, tally, call, progress_));
  summary_.await_time = scan.await_time;
  summary_.scan_time = clock_->Now() - start - scan.await_time;
  summary_.read = {scan.read_count, scan.byte_count, summary_.scan_time};
  summary_.duplicate_count = scan.duplicate_count;
  summary_.warning_count = scan.warnings.size();
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
  // A run that was killed when it had written the manifests has left it.
  for (const std::string* index : indexes) {
    RETURN_IF_ERROR(
        RemoveIndexWork(GenerationDirectory(options_.store, *index, summary_.generation)));
  }
  summary_.already_there = true;
  summary_.image_count = found[0].item_count;
  summary_.caption_count = found[1].item_count;
  summary_.quarantined_image_count = found[0].quarantined_count;
  summary_.quarantined_caption_count = found[1].quarantined_count;
  return true;
}

absl::Status CorpusEncoderJob::OpenBase(Plan& plan, const CallContext& call) {
  BaseChoice choice;
  choice.store = options_.place();
  choice.images_index = options_.images_index;
  choice.captions_index = options_.captions_index;
  choice.base = options_.base;
  choice.required.embedding = embedding_;
  choice.required.encoder_model = plan.context.encoder;
  choice.required.rerankers = plan.context.rerankers;
  choice.required.feature_dtype = plan.context.feature_dtype;
  choice.required.vector_dtype = options_.vector_dtype;
  choice.required.precision = options_.precision.precision;
  choice.agreement_path =
      plan.folder.File(absl::StrCat(plan.content.substr(0, kGenerationNameLength), ".base"));
  choice.carries = [&](const BaseGeneration& base) {
    return CarriesAny(plan.scan.pictures, base, plan.context, *plan.tally, call);
  };
  choice.share = options_.share;
  choice.lock = plan.lock;
  choice.tally = plan.tally;
  ASSIGN_OR_RETURN(plan.base, ChooseBase(choice, call));
  summary_.base = plan.base.name();
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::Divide(Plan& plan, const CallContext& call) {
  DivisionRules rules;
  rules.context = &plan.context;
  rules.unit_size = options_.unit_size;
  rules.share = options_.share;
  ASSIGN_OR_RETURN(plan.division, DivideCorpus(plan.scan.pictures, ItemCodec(corpora_), plan.base,
                                               rules, plan.folder, *plan.tally, call));
  summary_.carried_image_count = plan.division->carried.size();
  summary_.carried_caption_count = plan.division->carried_caption_count;
  summary_.unit_count = plan.division->units.size();
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::MakeOwnUnits(Plan& plan, const CallContext& call) {
  UnitWorkshop units;
  units.options = &options_;
  units.models = &models_;
  units.folder = &plan.folder;
  units.listing = plan.scan.listing;
  units.dimension = embedding_.dimension();
  units.has_regions = AnyHasRegions(corpora_);
  units.decoders = decoders_;
  units.tally = plan.tally;
  units.progress = progress_;
  units.summary = &summary_;
  plan.unit_work = std::make_unique<UnitWork>(units);
  progress_->Begin("encode", "pictures", plan.division->own_picture_count);
  const absl::Status made = plan.unit_work->MakeMissing(
      plan.division->units, [this](absl::string_view hash) { return options_.share.Owns(hash); },
      call);
  finished_unit_count_ = plan.unit_work->finished_count();
  RETURN_IF_ERROR(made);
  progress_->End();
  return absl::OkStatus();
}

RowWorkshop CorpusEncoderJob::WorkshopOfRows(const Plan& plan) const {
  RowWorkshop rows;
  rows.folder = &plan.folder;
  rows.share = options_.share;
  rows.content = plan.content;
  rows.shard_count = options_.shard_count;
  rows.unit_size = options_.unit_size;
  rows.dimension = embedding_.dimension();
  rows.context = &plan.context;
  rows.base = &plan.base;
  rows.picture_count = plan.scan.pictures.size();
  rows.caption_count = plan.division->caption_count;
  rows.tally = plan.tally;
  return rows;
}

absl::Status CorpusEncoderJob::MakeRows(int worker, Plan& plan, const CallContext& call) {
  if (plan.row_work == nullptr) plan.row_work = std::make_unique<RowWork>(WorkshopOfRows(plan));
  return plan.row_work->Make(worker, plan.division->units, plan.division->carried, call);
}

absl::Status CorpusEncoderJob::AwaitRows(Plan& plan, const CallContext& call) {
  const absl::Time start = clock_->Now();
  Awaited others;
  others.what = "units";
  others.seal = [&](int worker) { return plan.row_work->SealPath(worker); };
  others.pieces = [&](const std::function<void(const WorkPiece&)>& show) -> absl::Status {
    Spool::Reader hashes(*plan.division->unit_hashes);
    for (absl::string_view hash;;) {
      ASSIGN_OR_RETURN(const bool more, hashes.Next(&hash));
      if (!more) return absl::OkStatus();
      show({std::string(hash), plan.folder.UnitPath(hash)});
    }
  };
  const absl::Status status =
      AwaitSeals(plan.folder, others, options_.share, options_.await, call, progress_);
  summary_.await_time += clock_->Now() - start;
  return absl::IsDeadlineExceeded(status) ? WorkForOthers(status, plan, call) : status;
}

absl::Status CorpusEncoderJob::WorkForOthers(const absl::Status& why, Plan& plan,
                                             const CallContext& call) {
  // A worker that has ended well is not started again by anybody.
  if (call.expired() || options_.share.workers == 1 || !options_.share.writes() ||
      !plan.lock->alone()) {
    return why;
  }
  Log(Severity::kWarning, "nobody else is at work: what other workers owe is made here",
      {{"reason", why}});
  RETURN_IF_ERROR(plan.unit_work->MakeMissing(
      plan.division->units, [this](absl::string_view hash) { return !options_.share.Owns(hash); },
      call));
  for (int worker = 0; worker < options_.share.workers; ++worker) {
    if (worker != options_.share.worker) RETURN_IF_ERROR(MakeRows(worker, plan, call));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<GenerationRows>> CorpusEncoderJob::CollectAll(
    Plan& plan, const CallContext& call) {
  absl::StatusOr<absl::optional<GenerationRows>> rows = plan.row_work->Collect(call);
  if (!absl::IsDataLoss(rows.status())) return rows;
  RETURN_IF_ERROR(WorkForOthers(rows.status(), plan, call));
  return plan.row_work->Collect(call);
}

absl::Status CorpusEncoderJob::CheckQuarantine(Plan& plan, GenerationRows& rows) {
  RETURN_IF_ERROR(rows.bad_images.AddAll(plan.scan.quarantine));
  summary_.quarantined_image_count = rows.bad_images.size();
  summary_.quarantined_caption_count = rows.bad_captions.size();
  return CheckBadItems(
      {rows.bad_images, plan.scan.picture_count(), rows.bad_captions, rows.caption_count},
      options_.max_quarantine_share, plan.folder.File(kQuarantineFile));
}

GenerationSpec CorpusEncoderJob::SpecOf(const Plan& plan, ItemIndex index) const {
  const bool images = index == ItemIndex::kImages;
  GenerationSpec spec;
  spec.store = options_.store;
  spec.object_store = options_.object_store;
  spec.index = images ? options_.images_index : options_.captions_index;
  spec.generation = summary_.generation;
  spec.item_kind = images ? bundle::v1::IMAGE : bundle::v1::CAPTION;
  spec.parent = plan.base.name();
  spec.shard_count = options_.shard_count;
  spec.embedding = embedding_;
  spec.encoder_model = plan.context.encoder;
  spec.rerankers = plan.context.rerankers;
  spec.feature_dtype = plan.context.feature_dtype;
  spec.vector_dtype = options_.vector_dtype;
  spec.precision = options_.precision;
  spec.content = plan.content;
  spec.index_wish = options_.index;
  spec.recall_floor = options_.recall_floor;
  spec.threads = options_.decode_threads;
  spec.progress = progress_;
  return spec;
}

absl::StatusOr<bool> CorpusEncoderJob::Write(Plan& plan, GenerationRows& rows,
                                             const CallContext& call) {
  const absl::Time start = clock_->Now();
  GenerationSpec images = SpecOf(plan, ItemIndex::kImages);
  GenerationSpec captions = SpecOf(plan, ItemIndex::kCaptions);
  ASSIGN_OR_RETURN(images.refused, RefusedHash(rows.bad_images, rows.bad_captions));
  captions.refused = images.refused;
  ShardWorkshop shop;
  shop.folder = &plan.folder;
  shop.share = options_.share;
  shop.await = options_.await;
  shop.images = &images;
  shop.captions = &captions;
  shop.base = &plan.base;
  shop.row_work = plan.row_work.get();
  shop.rows = &rows;
  shop.tally = plan.tally;
  shop.progress = progress_;
  ShardWork shards(shop);
  if (!options_.share.writes()) return shards.WriteFree(call);
  ASSIGN_OR_RETURN(const bool done, shards.WriteAll(call));
  if (!done) return false;
  RETURN_IF_ERROR(Finish(plan, rows, images, captions, shards, call));
  summary_.write.time += clock_->Now() - start;
  return true;
}

absl::Status CorpusEncoderJob::Finish(Plan& plan, GenerationRows& rows,
                                      const GenerationSpec& images, const GenerationSpec& captions,
                                      const ShardWork& shards, const CallContext& call) {
  const auto queries_of = [&](const GenerationSpec& spec, ItemIndex index) -> QuerySource {
    return [&, index](int count) {
      return ProbeQueries(GenerationDirectory(spec.store, spec.index, spec.generation),
                          shards.manifests(index), embedding_.dimension(), count);
    };
  };
  const QuerySource pictures = queries_of(images, ItemIndex::kImages);
  const QuerySource questions = queries_of(captions, ItemIndex::kCaptions);
  ASSIGN_OR_RETURN(Warnings none, Warnings::Create(plan.folder.path()));
  RETURN_IF_ERROR(none.Finish());
  ASSIGN_OR_RETURN(const WrittenGeneration written_images,
                   FinishGeneration(images, shards.manifests(ItemIndex::kImages), questions,
                                    rows.bad_images, plan.scan.warnings, call));
  ASSIGN_OR_RETURN(const WrittenGeneration written_captions,
                   FinishGeneration(captions, shards.manifests(ItemIndex::kCaptions), pictures,
                                    rows.bad_captions, none, call));
  summary_.image_count = written_images.item_count;
  summary_.caption_count = written_captions.item_count;
  for (const WrittenGeneration& written : {written_images, written_captions}) {
    if (written.already_there) continue;
    summary_.write.item_count += written.item_count;
    summary_.write.byte_count += written.byte_count;
  }
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::Upload(const CallContext& call) {
  if (options_.object_store == nullptr) return absl::OkStatus();
  const absl::Time start = clock_->Now();
  for (const std::string& index : {options_.images_index, options_.captions_index}) {
    RETURN_IF_ERROR(UploadGeneration(options_.object_store.get(), options_.store, index,
                                     summary_.generation, call));
  }
  Log(Severity::kInfo, "uploaded",
      {{"store", options_.object_store->name()},
       {"generation", summary_.generation},
       {"seconds", absl::ToDoubleSeconds(clock_->Now() - start)}});
  return absl::OkStatus();
}

absl::Status CorpusEncoderJob::Publish(const CallContext& call) {
  RETURN_IF_ERROR(Upload(call));
  if (!options_.publish) return absl::OkStatus();
  RETURN_IF_ERROR(call.Check("publishing"));
  for (const std::string& index : {options_.images_index, options_.captions_index}) {
    ASSIGN_OR_RETURN(
        const bool current,
        PublishWritten(options_.place(), index, summary_.generation, summary_.already_there, call));
    summary_.rolled_back = summary_.rolled_back || !current;
  }
  summary_.published = !summary_.rolled_back;
  return absl::OkStatus();
}

// Whoever is the last to leave does it, however the generation came to be there.  What stays is
// what a worker that comes late, or again, finds its work done by.
absl::Status CorpusEncoderJob::CleanUp(const Plan& plan) const {
  absl::Time written = plan.lock->job_start();
  for (const std::string& index : {options_.images_index, options_.captions_index}) {
    const std::string path =
        JoinPath(GenerationDirectory(options_.store, index, summary_.generation), kManifestFile);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return absl::OkStatus();  // worker 0 is still to come
    written = std::max(written, absl::TimeFromTimespec(info.st_mtim));
  }
  RemoveRows(plan.folder, written, *plan.lock);
  if (!plan.division.has_value()) return absl::OkStatus();
  KeptPieces kept;
  kept.Add(plan.scan.listing);
  for (const Spool* hashes : {plan.scan.scans.get(), plan.division->unit_hashes.get()}) {
    RETURN_IF_ERROR(kept.AddAll(*hashes));
  }
  kept.Sort();
  RemoveStaleFiles(plan.folder, kept, *plan.lock);
  return absl::OkStatus();
}

}  // namespace sightline
