// One direction of a connection through the relay, without the waiting: what to read, to
// hold and to write.
#ifndef SIGHTLINE_LOADTEST_FAULTS_DELAYED_STREAM_H_
#define SIGHTLINE_LOADTEST_FAULTS_DELAYED_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/time/time.h"

namespace sightline {

// Bytes on their way from one socket to another, both non-blocking and somebody else's.
// Not thread-safe.
class DelayedStream {
 public:
  DelayedStream(int from, int to, int64_t max_held_bytes)
      : from_(from), to_(to), max_held_bytes_(max_held_bytes) {}

  // Reads what there is, within bounds, to be written at `due`, or with what was read
  // before it if that is later.  False: the connection broke.
  bool Read(absl::Time due);
  // Writes what is due and what the socket takes, the end included.  False: it broke.
  bool Write(absl::Time now);

  bool wants_read() const { return !read_end_ && held_bytes_ < max_held_bytes_; }
  // When the oldest of what is held is due; InfiniteFuture if nothing is.
  absl::Time due() const { return pieces_.empty() ? absl::InfiniteFuture() : pieces_.front().due; }
  // Whether all was passed on, and that it is all.
  bool done() const { return wrote_end_; }
  int64_t held_bytes() const { return held_bytes_; }

 private:
  struct Piece {
    std::string bytes;  // empty: the end
    absl::Time due;
    size_t written = 0;
  };

  const int from_, to_;
  const int64_t max_held_bytes_;
  std::deque<Piece> pieces_;  // in their order; one waits for those before it
  int64_t held_bytes_ = 0;    // of pieces_, not written yet
  bool read_end_ = false;
  bool wrote_end_ = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_DELAYED_STREAM_H_
