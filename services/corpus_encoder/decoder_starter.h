// Starts decoders: processes in which a hostile picture can do no harm but to itself.
//
// A process of its own starts them, forked from this program before it has any thread and
// before LibTorch has done anything, and single-threaded for life.  So a fork is a fork of
// a small, quiet process: it takes a millisecond, no lock can be held by a thread that is
// not there, and pages are shared.  (Running this program anew instead would be as robust,
// and costs half a second of CPU each time, since it links LibTorch; forking the job itself
// would copy LibTorch's threads' locks.)
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_STARTER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_STARTER_H_

#include <sys/types.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/descriptor.h"
#include "common/base/mutex.h"
#include "services/corpus_encoder/decode_child.h"

namespace sightline {

// A decoder that runs.  It ends when `socket` is closed, or its starter does.
struct DecoderProcess {
  pid_t pid = 0;
  Descriptor socket;
};

// Thread-safe.
class DecoderStarter {
 public:
  // Forks: to be called while the calling thread is the only one.  Decoders decode with
  // `decode`.  Unavailable if the system refuses.
  static absl::StatusOr<std::unique_ptr<DecoderStarter>> Create(DecodeFunction decode);

  // Ends the starter and reaps it.  Decoders end with it.
  ~DecoderStarter();

  // Unavailable if the system refuses, or if the starter has died.
  absl::StatusOr<DecoderProcess> Start();

  // Kills the decoder and says how it had ended, or that it was killed now: a status as
  // waitpid gives it.  Unavailable if the starter has died, and its decoders with it, or if
  // it has no such decoder; nobody is signalled then, as the number may be another's.
  absl::StatusOr<int> End(DecoderProcess process);

 private:
  DecoderStarter(pid_t pid, Descriptor control) : pid_(pid), control_(std::move(control)) {}

  const pid_t pid_;
  Mutex mutex_;
  Descriptor control_ GUARDED_BY(mutex_);  // one question and its answer at a time
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_DECODER_STARTER_H_
