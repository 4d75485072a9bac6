// Reads and decodes pictures, or reads regions, on threads of its own, ahead of whoever encodes
// them.
//
//   PicturePipeline pipeline(next_unit, options, extractors, &decoders, call);
//   for (;;) {
//     ASSIGN_OR_RETURN(const absl::optional<DecodedUnit> unit, pipeline.Next());
//     if (!unit.has_value()) break;
//
// Memory is bounded twice.  What is being decoded at one time, at kDecodeBytesPerPixel,
// stays below `max_decode_bytes` (a picture that is larger by itself is decoded alone);
// and decoding stays at most `units_ahead` units ahead.  Decoded pictures wait in the
// sizes to which the extractors have reduced them, a few hundred kilobytes each; extractors
// that ask for the same side share one.  What has
// regions already is read, not decoded, and takes as much (100 regions of 2048 numbers are
// 800 kB): with it, `units_ahead` is what bounds memory.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_PIPELINE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_PIPELINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/image/decode.h"
#include "common/image/image_input.h"
#include "services/corpus_encoder/decoder_pool.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

struct PipelineOptions {
  int threads = 1;  // as many decoders at most
  int units_ahead = 2;
  int64_t max_decode_bytes = int64_t{512} << 20;
  DecodeLimits limits;
  // Called, if it is set, on a thread of the pipeline with a picture that is not what was
  // scanned.
  std::function<void(const ScannedPicture&)> on_change;
};

// A unit and its pictures, in order, each as every extractor reduces it.
struct DecodedUnit {
  WorkUnit unit;
  std::vector<DecodedPicture> pictures;
};

// Next is for one thread.  The extractors, of which some may be null, must outlive it.
class PicturePipeline {
 public:
  // Gives the next unit, or false when there is none.
  using UnitSource = std::function<absl::StatusOr<bool>(WorkUnit* unit)>;

  // `source` is asked by Next, so on its thread.  `decoders` must outlive it.
  PicturePipeline(UnitSource source, const PipelineOptions& options,
                  std::vector<const RegionExtractor*> extractors, DecoderPool* decoders,
                  const CallContext& call);

  // Stops the threads; what they are decoding is decoded first.
  ~PicturePipeline();

  PicturePipeline(const PicturePipeline&) = delete;
  PicturePipeline& operator=(const PicturePipeline&) = delete;

  // The next unit when all of its pictures are decoded, each once for every extractor; those
  // after it are begun before this returns.  None after the last.  Aborted if a picture has
  // changed since it was scanned; CANCELLED if the call is; what a reader returned for trouble
  // of the machine; what the source did.  After an error it may not be called again.
  absl::StatusOr<absl::optional<DecodedUnit>> Next();

  // Sums over all threads so far.
  struct Stats {
    int64_t picture_count = 0;
    int64_t decoded_count = 0;  // of these: pictures, not regions
    int64_t byte_count = 0;     // of the encoded pictures
    int64_t pixel_count = 0;
    absl::Duration read_time;
    absl::Duration decode_time;
  };
  Stats stats() const;

 private:
  struct UnitState {
    DecodedUnit decoded;
    size_t taken = 0;      // pictures that a thread has, or has had
    size_t remaining = 0;  // pictures not decoded yet
  };

  absl::Status TakeUnits() EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  // Takes the next picture.  Waits; false at the end.
  bool TakeWork(UnitState** unit, size_t* picture) EXCLUDES(mutex_);
  absl::Status DecodeOne(const ScannedPicture& picture, DecodedPicture* decoded);
  absl::Status Decode(const std::string& bytes, DecodedPicture* decoded);
  void GiveOut(DecodedPicture* decoded) const;
  // Waits until so many pixels may be decoded beside the others.
  absl::Status Admit(int64_t pixel_count) EXCLUDES(mutex_);
  void Fail(const absl::Status& status) EXCLUDES(mutex_);

  const UnitSource source_;
  const PipelineOptions options_;
  const std::vector<const RegionExtractor*> extractors_;
  DecoderPool* const decoders_;
  const CallContext call_;

  mutable Mutex mutex_;
  CondVar changed_;  // any of the below
  // That Next has not returned.  Pictures are written without the mutex, each by the thread
  // that took it.
  std::deque<UnitState> units_ GUARDED_BY(mutex_);
  bool exhausted_ GUARDED_BY(mutex_) = false;    // the source is
  int64_t decode_bytes_ GUARDED_BY(mutex_) = 0;  // of pictures being decoded
  bool stopping_ GUARDED_BY(mutex_) = false;
  absl::Status error_ GUARDED_BY(mutex_);
  Stats stats_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_PIPELINE_H_
