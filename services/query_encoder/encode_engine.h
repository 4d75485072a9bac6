// Encodes queries, batched across requests.  Knows models and batches, nothing of gRPC.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODE_ENGINE_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODE_ENGINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/query.h"
#include "common/api/query_encoder.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/dtype.h"
#include "common/base/limits.h"
#include "common/base/outcome.h"
#include "common/batching/batch_scheduler.h"
#include "common/bundle/feature_dtype.h"
#include "common/generations/generation_registry.h"
#include "common/image/decode.h"
#include "common/models/item_encoder.h"
#include "common/models/model.h"

namespace sightline {

// What the encoder keeps of a generation.
struct EncoderGeneration {
  struct Reranker {
    std::string name;
    std::shared_ptr<const Model> model;  // prepares the features that it reads
  };
  std::shared_ptr<const Model> encoder;
  std::string precision;                       // that the encoder computes in
  std::vector<Reranker> rerankers;             // the default first; may be none
  Dtype feature_dtype = kDefaultFeatureDtype;  // of the pictures that it has, and that are sent
};

struct EncodeEngineOptions {
  BatchSchedulerOptions text;    // cost: tokens
  BatchSchedulerOptions image;   // cost: images
  BatchSchedulerOptions decode;  // cost: megapixels begun; one picture a batch
  DecodeLimits limits;
  int max_queries = limits::kMaxQueries;  // of one request
};

// Thread-safe.
class EncodeEngine {
 public:
  EncodeEngine(const EncodeEngineOptions& options,
               GenerationRegistry<EncoderGeneration>* generations, Clock* clock);

  // Blocks until the answer is there or the call's deadline has passed.  Errors as
  // QueryEncoder.EncodeQueries lists them.
  absl::StatusOr<EncodeResponse> EncodeQueries(const EncodeRequest& request,
                                               const CallContext& call);

  // Refuses new work and finishes what was accepted.
  void Drain();

  struct Stats {
    BatchSchedulerStats text, image, decode;
  };
  Stats stats() const;

 private:
  struct Task {
    std::shared_ptr<const EncoderGeneration> generation;
    const Model* reranker;  // whose features are wanted; null: nobody's
    CallContext call;
    std::shared_ptr<Outcome<EmbeddedItem>> outcome;
  };
  struct TextTask : Task {
    Tokens tokens;
    std::vector<ItemFeatures> features;  // the reranker's
  };
  struct ImageTask : Task {
    Shared<ImageInput> regions;                         // as sent; else empty, and there is
    std::vector<std::shared_ptr<const Pixels>> pixels;  // a picture, see PictureToEncode
  };
  struct DecodeTask : Task {
    Shared<std::string> bytes;
  };

  absl::Status Start(const EncodableQuery& query, Task task);
  absl::Status StartText(const TextQuery& query, Task task);
  absl::Status StartImage(ImageTask task);

  void DecodeAll(std::vector<DecodeTask> batch);
  void EncodeTextBatch(std::vector<TextTask> batch);
  void EncodeImageBatch(std::vector<ImageTask> batch);
  static std::vector<const Model*> RerankersOf(const Task& task);

  const EncodeEngineOptions options_;
  GenerationRegistry<EncoderGeneration>* const generations_;
  // Decoding feeds image encoding, so it is declared last and drained first.
  BatchScheduler<TextTask> texts_;
  BatchScheduler<ImageTask> images_;
  BatchScheduler<DecodeTask> decodes_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODE_ENGINE_H_
