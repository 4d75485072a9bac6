// What the job is asked for.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_OPTIONS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/dtype.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/vector_dtype.h"
#include "common/image/decode.h"
#include "common/indexing/index_settings.h"
#include "common/models/precision/policy.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"
#include "services/corpus_encoder/device_timeline.h"
#include "services/corpus_encoder/remote_store.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

struct CorpusEncoderOptions {
  std::string store;
  // Where what is read comes from that is not in `store`, and where what was made goes to be
  // published; null: `store` is all there is.
  std::shared_ptr<ObjectStore> object_store;
  FetchOptions fetch;
  std::string images_index = "images";
  std::string captions_index = "captions";
  // Name of the generation in both indexes.  Empty: the content's hash, so that equal
  // input gives an equal name.
  std::string generation;
  std::string caption_language = "en";
  int shard_count = 1;
  bool publish = true;
  // From which items that have not changed are carried over; see BaseChoice.
  std::string base;
  Dtype vector_dtype = kDefaultVectorDtype;  // that embeddings are stored as
  // What the corpora are, in any words: jobs of other corpora keep out of each other's way.
  std::string corpora;
  WorkShare share;

  // Behaviour: changing one of these makes other units, which are encoded anew.
  int unit_size = 64;                          // pictures in a unit, on average
  bool deterministic = false;                  // what the model was loaded with
  Dtype feature_dtype = kDefaultFeatureDtype;  // of pictures' item features
  PrecisionChoice precision;                   // that the encoder was loaded in
  DecodeLimits limits;

  // Performance and patience.
  // Of the device that the encoder computes on, which has several units encoded at once; null: of
  // the CPU.
  std::shared_ptr<DeviceTimeline> device;
  int read_threads = 1;
  int decode_threads = 1;
  int64_t max_decode_bytes = int64_t{512} << 20;  // of pictures being decoded at one time
  AwaitOptions await;
  // Of the pictures, and of the captions, that may be bad before the job fails.
  double max_quarantine_share = 0.05;

  // Of both indexes.
  IndexWish index;
  // Share of the true neighbors that the index of each shard must find before a server
  // serves it, where the index is exact; another's follows from what it finds when it is built.
  double recall_floor = 0.99;

  JobStore place() const { return {store, object_store, fetch}; }
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_OPTIONS_H_
