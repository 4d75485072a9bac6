// Decodes pictures in processes of their own, so that none can take the job down.
//
//   DecoderPool pool(starter.get(), absl::Seconds(60));
//   ASSIGN_OR_RETURN(DecodedPicture picture, pool.Decode(bytes, order, call));
//
// A picture whose decoder crashes, hangs or runs out of memory costs that decoder, and
// then one more that tries it again: the first may have been spoilt by an earlier picture,
// or the machine have been busy.  What fails twice is the picture's problem.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_POOL_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/image/decode.h"
#include "common/image/image_input.h"
#include "services/corpus_encoder/decoder_starter.h"

namespace sightline {

struct DecodedPicture {
  // One for each side that was asked for; equal sides share theirs.  Of the pipeline: one for each
  // extractor, null where that is null.
  std::vector<std::shared_ptr<const Pixels>> pixels;
  ImageInput image;     // instead of pixels: an item of a corpus of regions
  std::string problem;  // why there is neither; empty if there is
  // Whether the problem may be the machine's: it was slow, or its memory went elsewhere.
  bool may_pass = false;
};

struct DecodeOrder {
  DecodeLimits limits;
  // One or more, in any order, some perhaps equal; see DecodeRequest.
  std::vector<int64_t> sides;
  // Called once the picture's size is known, before memory is taken for it.  An error ends
  // the decoding and is passed on.  A second try does not call it again.
  std::function<absl::Status(int64_t pixel_count)> admit;
};

// Thread-safe.  There are as many decoders as threads decode at one time.
class DecoderPool {
 public:
  // `starter` must outlive the pool.  `timeout` is for each message of a decoder: its
  // picture's header, its pixels.
  DecoderPool(DecoderStarter* starter, absl::Duration timeout)
      : starter_(starter), timeout_(timeout) {}

  // Ends the decoders.
  ~DecoderPool();

  // A picture with a problem is no error.  CANCELLED if `call` is; Unavailable if decoders
  // cannot be started; what `admit` returned.
  absl::StatusOr<DecodedPicture> Decode(absl::string_view bytes, const DecodeOrder& order,
                                        const CallContext& call);

  absl::Duration timeout() const { return timeout_; }

  // Decoders that were lost to their pictures.
  int64_t lost_count() const;

 private:
  absl::StatusOr<DecoderProcess> Take(const CallContext& call) EXCLUDES(mutex_);
  // What became of the decoder, as its picture's problem.
  absl::StatusOr<DecodedPicture> Bury(DecoderProcess process, const absl::Status& why)
      EXCLUDES(mutex_);

  DecoderStarter* const starter_;
  const absl::Duration timeout_;
  mutable Mutex mutex_;
  std::vector<DecoderProcess> idle_ GUARDED_BY(mutex_);
  int64_t lost_count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_POOL_H_
