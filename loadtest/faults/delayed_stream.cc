#include "loadtest/faults/delayed_stream.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>

namespace sightline {
namespace {

constexpr int64_t kReadBytes = 64 << 10;
// What one stream reads before the others get their turn.
constexpr int kReadsInTurn = 8;

bool IsForLater(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

bool DelayedStream::Read(absl::Time due) {
  char buffer[kReadBytes];
  for (int i = 0; i < kReadsInTurn && wants_read(); ++i) {
    const int64_t room = std::min(kReadBytes, max_held_bytes_ - held_bytes_);
    const ssize_t count = ::recv(from_, buffer, static_cast<size_t>(room), 0);
    if (count < 0) return IsForLater(errno);
    pieces_.push_back({std::string(buffer, static_cast<size_t>(count)), due});
    held_bytes_ += count;
    read_end_ = count == 0;
  }
  return true;
}

bool DelayedStream::Write(absl::Time now) {
  while (due() <= now) {
    Piece& piece = pieces_.front();
    if (piece.bytes.empty()) {
      pieces_.clear();
      wrote_end_ = true;
      return ::shutdown(to_, SHUT_WR) == 0;
    }
    const ssize_t count = ::send(to_, piece.bytes.data() + piece.written,
                                 piece.bytes.size() - piece.written, MSG_NOSIGNAL);
    if (count < 0) return IsForLater(errno);
    piece.written += static_cast<size_t>(count);
    held_bytes_ -= count;
    if (piece.written == piece.bytes.size()) pieces_.pop_front();
  }
  return true;
}

}  // namespace sightline
