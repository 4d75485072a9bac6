// The far end of a decoder: a process that decodes one picture after another and may be
// killed by any of them.
//
// It talks over a stream socket, native byte order, since both ends are one program:
//
//   it       Hello, once it is ready
//   parent   DecodeRequest, then its sides, then its bytes
//   it       DecodeHeader: the size of the picture, or a problem, which ends the exchange
//   parent   one byte: memory for it is there, go on
//   it       for each side a DecodeReply, then the picture's rgb bytes; or a problem's text,
//            which ends the exchange
//
// A picture is sent before the next one is made, so that sides cost no memory.
//
// What it sends comes from a process that a picture may have taken over: decoder_pool.cc
// believes no number of it.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODE_CHILD_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODE_CHILD_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image/decode.h"

namespace sightline {

// DecodeImage, but for tests of what hostile pictures do.
using DecodeFunction =
    std::function<absl::StatusOr<Pixels>(absl::string_view bytes, const DecodeLimits& limits)>;

inline constexpr char kDecoderHello = 'H';
inline constexpr char kDecoderGoOn = 'G';
inline constexpr int64_t kMaxDecodeProblemBytes = 4096;

struct DecodeRequest {
  DecodeLimits limits;
  int64_t byte_count = 0;
  int64_t cpu_seconds = 0;  // that decoding may take
  // So many int64_t follow.  One picture comes back for each: reduced to that side
  // (ReducePicture), or whole: 0.
  int64_t side_count = 0;
};

struct DecodeHeader {
  int64_t problem_bytes = 0;  // 0: there is none
  int64_t pixel_count = 0;
};

struct DecodeReply {
  int64_t problem_bytes = 0;  // 0: a picture follows
  int64_t out_of_memory = 0;  // 1: that is the problem
  int32_t width = 0;
  int32_t height = 0;
};

// What a picture may take, and is counted at, a pixel: three bytes of the result, what
// decoders hold beside it (common/image/README.md), a copy of the result that is reduced.
inline constexpr int64_t kDecodeBytesPerPixel = 16;

// Address space that decoding a picture may take beside what the process has.
int64_t DecodeMemoryBytes(int64_t pixel_count, int64_t byte_count);

// Serves the socket until its other end is closed.  CPU time is limited before each picture,
// and address space: to what the largest may need, then, when its header is read, to what it
// does.  No core is written, and when the machine runs out of memory, this process is taken
// before the job.
void ServeDecoding(int socket, const DecodeFunction& decode);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODE_CHILD_H_
