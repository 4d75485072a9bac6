// What a run of the job did, for people and for the log.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ENCODE_SUMMARY_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ENCODE_SUMMARY_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "services/corpus_encoder/device_timeline.h"

namespace sightline {

// What one stage has done, and how long it took to.
struct StageWork {
  int64_t item_count = 0;  // pictures; of encode and write: pictures and captions
  int64_t byte_count = 0;  // decode: of pixels; encode: of unit files; others: of files
  absl::Duration time;     // in which it was at work; of several threads, their mean

  // "512.0/s 12.1 MB/s", or "-" when nothing was done.
  std::string Rate() const;
};

struct EncodeSummary {
  std::string generation;
  bool already_there = false;  // an earlier run has written it: nothing was done
  bool published = false;
  bool rolled_back = false;  // it was before this run, which therefore did not publish it again
  int worker = 0;
  int workers = 1;

  int64_t image_count = 0;    // in the generation
  int64_t caption_count = 0;  // in the generation
  int64_t quarantined_image_count = 0;
  int64_t quarantined_caption_count = 0;
  int64_t warning_count = 0;
  int64_t duplicate_count = 0;  // of the warnings: pictures that are there twice

  std::string base;  // generation that unchanged items were carried over from; may be empty
  int64_t carried_image_count = 0;
  int64_t carried_caption_count = 0;
  int64_t unit_count = 0;         // of all workers
  int64_t reused_unit_count = 0;  // this worker's, finished by an earlier run
  int64_t encoded_image_count = 0;
  int64_t encoded_caption_count = 0;
  int64_t lost_decoder_count = 0;  // that crashed, hung or ran out of memory

  StageWork read, decode, encode, write;
  absl::Duration scan_time;           // of `read`: the first time, before anything else begins
  absl::Duration wait_time;           // of the model for decoded pictures
  absl::Duration await_time;          // for other workers
  absl::optional<DeviceTime> device;  // that the encoder computes on; none: the CPU

  // The stage that took most of the time: "read", "decode", "encode", "write" or "wait for
  // other workers".
  std::string Slowest() const;
  // The rates of the stages that run side by side, and which of them the others wait for:
  // for a progress line.
  std::string Rates() const;
  // A dozen lines of text.
  std::string Report() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ENCODE_SUMMARY_H_
