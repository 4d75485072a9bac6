// The job: corpora and models in, two published generations out.
//
//   scan      list the corpora, read and hash every picture
//   encode    units that no earlier run has finished: decode, encode, write a unit file
//   write     unit files into shards, ledger and manifest, for images and for captions
//   publish   rename CURRENT of both indexes
//
// A job that is killed, at any point, leaves unit files that the next run takes over and
// nothing that a server would look at.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/image/decode.h"
#include "common/log/progress.h"
#include "common/models/model.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_units.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

struct CorpusEncoderOptions {
  std::string store;
  std::string images_index = "images";
  std::string captions_index = "captions";
  // Name of the generation in both indexes.  Empty: the content's hash, so that equal
  // input gives an equal name.
  std::string generation;
  std::string caption_language = "en";
  int shard_count = 1;
  bool publish = true;

  // Behaviour: changing one of these makes other units, which are encoded anew.
  int unit_size = 64;          // pictures in a unit, on average
  bool deterministic = false;  // what the model was loaded with
  DecodeLimits limits;

  // Performance and patience.
  int read_threads = 1;
  int decode_threads = 1;
  int64_t max_decode_bytes = int64_t{512} << 20;  // of pictures being decoded at one time
  // Of the pictures, and of the captions, that may be bad before the job fails.
  double max_quarantine_share = 0.05;
};

// What the job did, for people and for the log.
struct EncodeSummary {
  std::string generation;
  int64_t image_count = 0;    // in the generation
  int64_t caption_count = 0;  // in the generation
  int64_t quarantined_image_count = 0;
  int64_t quarantined_caption_count = 0;
  int64_t warning_count = 0;
  int64_t unit_count = 0;
  int64_t reused_unit_count = 0;  // finished by an earlier run
  int64_t encoded_image_count = 0;
  int64_t encoded_caption_count = 0;
  int64_t read_byte_count = 0;
  int64_t pixel_count = 0;
  int64_t written_byte_count = 0;
  absl::Duration scan_time;    // wall
  absl::Duration decode_time;  // summed over the decoding threads
  absl::Duration encode_time;  // in the model, wall
  absl::Duration wait_time;    // of the model for decoded pictures
  absl::Duration write_time;   // wall
  bool published = false;

  // Five lines of text.
  std::string Report() const;
};

// Run once; not thread-safe.
class CorpusEncoderJob {
 public:
  // `embedding` is the encoder's, from its bundle.  `clock` and `progress` outlive the job.
  CorpusEncoderJob(const CorpusEncoderOptions& options,
                   std::vector<std::unique_ptr<CorpusReader>> corpora, CorpusModels models,
                   const bundle::v1::EmbeddingSpec& embedding, Clock* clock, Progress* progress);

  // CANCELLED, when `call` is: run it again to go on.  FailedPrecondition: too many bad
  // pictures (the ledger is then in the work folder), a model that cannot do it, or
  // another job at work on the same index.  Otherwise as scan, model and store report.
  absl::StatusOr<EncodeSummary> Run(const CallContext& call);

 private:
  absl::Status RunSteps(const CallContext& call);
  absl::Status EncodeMissing(const std::vector<WorkUnit>& units, const CallContext& call);
  // Takes over what earlier runs have finished; returns the rest.
  absl::StatusOr<std::vector<WorkUnit>> FindMissing(const std::vector<WorkUnit>& units,
                                                    const CallContext& call);
  void TakeNote(const WorkUnit& unit, const UnitResult& result);
  absl::Status CheckQuarantine(const CorpusScan& scan);
  absl::Status WriteAndPublish(const CorpusScan& scan, const std::vector<WorkUnit>& units,
                               const CallContext& call);
  std::string ContentHash(const CorpusScan& scan, const std::vector<WorkUnit>& units) const;
  void RemoveStaleUnits(const std::vector<WorkUnit>& units) const;

  const CorpusEncoderOptions options_;
  const std::vector<std::unique_ptr<CorpusReader>> corpora_;
  const CorpusModels models_;
  const bundle::v1::EmbeddingSpec embedding_;
  Clock* const clock_;
  Progress* const progress_;
  const std::string work_directory_;

  EncodeSummary summary_;
  std::vector<QuarantineEntry> bad_images_, bad_captions_;
  int64_t finished_unit_count_ = 0;
  int64_t seen_caption_count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_JOB_H_
