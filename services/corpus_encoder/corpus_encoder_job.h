// The job: corpora and models in, two published generations out.
//
//   scan      list the corpora, read and hash every picture
//   divide    what has not changed since a base generation is carried over from it
//   encode    units that no earlier run has finished: decode, encode, write a unit file
//   collect   look at all that was made, and judge it
//   write     units and base into shards, ledgers and manifest, for images and for captions
//   publish   rename CURRENT of both indexes
//
// Many workers scan and encode, each its share (work_share.h).  Worker 0 does the rest,
// once, when all units are there: the last to finish might, but then nobody would be left
// to say who is missing.  A worker that is killed, at any point, leaves files that the next
// run takes over and nothing that a server would look at.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/log/progress.h"
#include "common/models/model.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/decoder_pool.h"
#include "services/corpus_encoder/encode_summary.h"
#include "services/corpus_encoder/generation_items.h"
#include "services/corpus_encoder/job_options.h"
#include "services/corpus_encoder/picture_pipeline.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/work_lock.h"
#include "services/corpus_encoder/work_units.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// Run once; not thread-safe.
class CorpusEncoderJob {
 public:
  // `embedding` is the encoder's, from its bundle.  `decoders`, `clock` and `progress`
  // outlive the job.
  CorpusEncoderJob(const CorpusEncoderOptions& options,
                   std::vector<std::unique_ptr<CorpusReader>> corpora, CorpusModels models,
                   const bundle::v1::EmbeddingSpec& embedding, DecoderPool* decoders, Clock* clock,
                   Progress* progress);

  // CANCELLED, when `call` is, and DeadlineExceeded, naming them, when other workers do not
  // deliver: run it again to go on.  FailedPrecondition: too many bad pictures (the ledger
  // is then in the work folder), a model that cannot do it or has collapsed, a base that
  // does not fit, or another process at work in its place.  Otherwise as scan, model and
  // store report.
  absl::StatusOr<EncodeSummary> Run(const CallContext& call);

 private:
  // The corpus on its way.
  struct Plan {
    WorkLock* lock = nullptr;  // held as long as the job runs
    UnitContext context;
    std::string content;        // hash of all that the generation depends on
    int64_t picture_count = 0;  // bad ones included
    std::vector<CorpusProblem> warnings;
    std::vector<std::string> scan_files;  // of the work folder
    BaseGeneration base;
    CorpusDivision corpus;
    std::vector<WorkUnit> units;
    std::set<std::string> checked_units;  // hashes, made or verified by this process
    GenerationItems items;
  };

  absl::Status RunSteps(const CallContext& call);
  absl::StatusOr<CorpusScan> Scan(const CallContext& call);
  // True, with the summary filled, if earlier runs have written both generations.
  absl::StatusOr<bool> FindWritten(const Plan& plan);
  absl::Status OpenBase(const CorpusScan& scan, Plan& plan, const CallContext& call);
  absl::Status EncodeOwnUnits(Plan& plan, const CallContext& call);
  absl::Status EncodeMissing(const std::vector<WorkUnit>& missing, Plan& plan,
                             const CallContext& call);
  // Takes over what is finished of this worker's units, or of all; returns the rest.
  enum class Whose { kOwn, kAll };
  absl::StatusOr<std::vector<WorkUnit>> FindMissing(Whose whose, Plan& plan,
                                                    const CallContext& call);
  void NotePipeline(const PicturePipeline& pipeline);
  absl::Status AwaitUnits(Plan& plan, const CallContext& call);
  // Makes what other workers owe, if none of them is at work; otherwise returns `why`.
  absl::Status EncodeForOthers(const absl::Status& why, Plan& plan, const CallContext& call);
  absl::StatusOr<GenerationItems> Collect(const Plan& plan, const CallContext& call);
  absl::Status CollectAll(Plan& plan, const CallContext& call);
  absl::Status CheckQuarantine(const Plan& plan);
  absl::Status Write(const Plan& plan, const CallContext& call);
  absl::Status Publish(const CallContext& call);
  // The work folder's files that a worker that comes late, or again, finds its work done by.
  std::set<std::string> WantedFiles(const Plan& plan) const;

  const CorpusEncoderOptions options_;
  const std::vector<std::unique_ptr<CorpusReader>> corpora_;
  const CorpusModels models_;
  const bundle::v1::EmbeddingSpec embedding_;
  DecoderPool* const decoders_;
  Clock* const clock_;
  Progress* const progress_;
  const std::string work_directory_;

  EncodeSummary summary_;
  StageWork scanned_;  // of the summary's `read`: by the scan
  std::vector<QuarantineEntry> scan_quarantine_;
  int64_t finished_unit_count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
