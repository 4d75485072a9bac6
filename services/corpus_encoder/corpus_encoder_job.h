// The job: corpora and models in, two published generations out.
//
//   scan      list the corpora, read and hash every picture
//   divide    what has not changed since a base generation is carried over from it
//   encode    units that no earlier run has finished: decode, encode, write a unit file
//   collect   copy units and base into row files, in the order that shards need them
//   judge     look at all that was found wrong
//   write     shards of row files, for images and for captions
//   finish    probes, ledgers and manifests
//   publish   rename CURRENT of both indexes
//
// Many workers scan, encode, collect and write, each its share (work_share.h), and each
// judges alike.  Worker 0 does the rest, once, when all shards are there: the last to finish
// might, but then nobody would be left to say who is missing.  A worker that is killed, at
// any point, leaves files that the next run takes over and nothing that a server would look at.
//
// What is known of the items lies on disk, too (item_spool.h), and so does a base (BaseReader):
// memory does not grow with them, but by the names of row files, and twelve bytes an item of the
// shard that is written.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/log/progress.h"
#include "common/models/model.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/decoder_pool.h"
#include "services/corpus_encoder/encode_summary.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/job_options.h"
#include "services/corpus_encoder/row_work.h"
#include "services/corpus_encoder/shard_work.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"
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
  struct Plan;

  absl::Status RunSteps(const CallContext& call);
  absl::StatusOr<CorpusScan> Scan(const WorkFolder& folder, WorkTally& tally,
                                  const CallContext& call);
  // True, with the summary filled, if earlier runs have written both generations.
  absl::StatusOr<bool> FindWritten(const Plan& plan);
  // All from the choice of a base on.  Worker 0's returns when both generations are written,
  // another's when no shard is left for it.
  absl::Status MakeGeneration(Plan& plan, const CallContext& call);
  absl::Status OpenBase(Plan& plan, const CallContext& call);
  absl::Status Divide(Plan& plan, const CallContext& call);
  absl::Status MakeOwnUnits(Plan& plan, const CallContext& call);
  RowWorkshop WorkshopOfRows(const Plan& plan) const;
  // Of units that are there.
  absl::Status MakeRows(int worker, Plan& plan, const CallContext& call);
  absl::Status AwaitRows(Plan& plan, const CallContext& call);
  // Makes what other workers owe, if none of them is at work; otherwise returns `why`.
  absl::Status WorkForOthers(const absl::Status& why, Plan& plan, const CallContext& call);
  // None if a seal is gone.
  absl::StatusOr<absl::optional<GenerationRows>> CollectAll(Plan& plan, const CallContext& call);
  absl::Status CheckQuarantine(Plan& plan, GenerationRows& rows);
  GenerationSpec SpecOf(const Plan& plan, ItemIndex index) const;
  // False if the rows have changed meanwhile.
  absl::StatusOr<bool> Write(Plan& plan, GenerationRows& rows, const CallContext& call);
  absl::Status Finish(Plan& plan, GenerationRows& rows, const GenerationSpec& images,
                      const GenerationSpec& captions, const ShardWork& shards,
                      const CallContext& call);
  absl::Status Upload(const CallContext& call);
  absl::Status Publish(const CallContext& call);
  // Removes what nobody needs once both generations are written: if they are, and nobody else
  // is at work.
  absl::Status CleanUp(const Plan& plan) const;

  const CorpusEncoderOptions options_;
  const std::vector<std::unique_ptr<CorpusReader>> corpora_;
  const CorpusModels models_;
  const bundle::v1::EmbeddingSpec embedding_;
  DecoderPool* const decoders_;
  Clock* const clock_;
  Progress* const progress_;
  const std::string work_directory_;

  EncodeSummary summary_;
  int64_t finished_unit_count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
