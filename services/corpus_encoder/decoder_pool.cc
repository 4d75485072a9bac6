#include "services/corpus_encoder/decoder_pool.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int kTries = 2;
// How soon a call that was cancelled is noticed.
constexpr absl::Duration kGlance = absl::Milliseconds(100);

// One end of a conversation with a decoder.  An error of kind DataLoss says that the
// decoder is gone or talks nonsense, DeadlineExceeded that it was silent for too long.
class Conversation {
 public:
  Conversation(int socket, absl::Duration timeout, const CallContext& call)
      : socket_(socket), timeout_(timeout), call_(call) {}

  absl::Status Send(const void* data, size_t size) {
    const char* next = static_cast<const char*>(data);
    return Move(POLLOUT, size, [&](size_t left) {
      const ssize_t sent = ::send(socket_, next, left, MSG_NOSIGNAL | MSG_DONTWAIT);
      next += std::max<ssize_t>(sent, 0);
      return sent;
    });
  }

  absl::Status Receive(void* data, size_t size) {
    char* next = static_cast<char*>(data);
    return Move(POLLIN, size, [&](size_t left) {
      const ssize_t got = ::recv(socket_, next, left, MSG_DONTWAIT);
      next += std::max<ssize_t>(got, 0);
      return got;
    });
  }

  absl::StatusOr<std::string> ReceiveText(int64_t size) {
    if (size < 0 || size > kMaxDecodeProblemBytes) return Nonsense();
    std::string text(static_cast<size_t>(size), '\0');
    RETURN_IF_ERROR(Receive(text.data(), text.size()));
    return text;
  }

  static absl::Status Nonsense() {
    return absl::DataLossError("its decoder gave an answer that makes no sense");
  }

 private:
  template <typename Step>
  absl::Status Move(short event, size_t size, const Step& step) {
    const absl::Time deadline = call_.clock()->Now() + timeout_;
    while (size > 0) {
      const ssize_t moved = step(size);
      if (moved > 0) {
        size -= static_cast<size_t>(moved);
        continue;
      }
      if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
        return absl::DataLossError("its decoder has died");
      }
      RETURN_IF_ERROR(Wait(event, deadline));
    }
    return absl::OkStatus();
  }

  absl::Status Wait(short event, absl::Time deadline) {
    RETURN_IF_ERROR(call_.Check("decoding pictures"));
    const absl::Duration left = deadline - call_.clock()->Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("");
    pollfd waiting = {socket_, event, 0};
    ::poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(std::min(left, kGlance))) + 1);
    return absl::OkStatus();
  }

  const int socket_;
  const absl::Duration timeout_;
  const CallContext& call_;
};

absl::Status SendRequest(Conversation& talk, absl::string_view bytes, const DecodeLimits& limits,
                         const std::vector<int64_t>& sides, int64_t cpu_seconds) {
  DecodeRequest request;
  std::memset(static_cast<void*>(&request), 0, sizeof(request));
  request.limits = limits;
  request.byte_count = static_cast<int64_t>(bytes.size());
  request.cpu_seconds = cpu_seconds;
  request.side_count = static_cast<int64_t>(sides.size());
  RETURN_IF_ERROR(talk.Send(&request, sizeof(request)));
  RETURN_IF_ERROR(talk.Send(sides.data(), sides.size() * sizeof(int64_t)));
  return talk.Send(bytes.data(), bytes.size());
}

// A picture, or a problem instead.
absl::Status ReceivePicture(Conversation& talk, int64_t max_pixels, Pixels* picture,
                            DecodedPicture* decoded) {
  DecodeReply reply;
  RETURN_IF_ERROR(talk.Receive(&reply, sizeof(reply)));
  if (reply.problem_bytes != 0) {
    ASSIGN_OR_RETURN(decoded->problem, talk.ReceiveText(reply.problem_bytes));
    decoded->may_pass = reply.out_of_memory != 0;
    return absl::OkStatus();
  }
  if (reply.width < 1 || reply.height < 1 || int64_t{reply.width} * reply.height > max_pixels) {
    return Conversation::Nonsense();
  }
  picture->width = reply.width;
  picture->height = reply.height;
  picture->rgb.resize(size_t{3} * reply.width * reply.height);
  return talk.Receive(picture->rgb.data(), picture->rgb.size());
}

// One exchange of decode_child.h.
absl::StatusOr<DecodedPicture> Exchange(Conversation& talk, absl::string_view bytes,
                                        const DecodeOrder& order, int64_t cpu_seconds,
                                        int64_t* admitted) {
  // Each picture comes once, however many want it.
  std::map<int64_t, std::shared_ptr<const Pixels>> by_side;
  for (const int64_t side : order.sides) by_side[side] = nullptr;
  std::vector<int64_t> sides;
  for (const auto& [side, pixels] : by_side) sides.push_back(side);
  RETURN_IF_ERROR(SendRequest(talk, bytes, order.limits, sides, cpu_seconds));

  DecodedPicture decoded;
  DecodeHeader header;
  RETURN_IF_ERROR(talk.Receive(&header, sizeof(header)));
  if (header.problem_bytes != 0) {
    ASSIGN_OR_RETURN(decoded.problem, talk.ReceiveText(header.problem_bytes));
    return decoded;
  }
  if (header.pixel_count < 1 || header.pixel_count > order.limits.max_pixels) {
    return Conversation::Nonsense();
  }
  if (*admitted == 0) {
    RETURN_IF_ERROR(order.admit(header.pixel_count));
    *admitted = header.pixel_count;
  }
  // A second decoder may not have more than the first was granted.
  if (header.pixel_count > *admitted) return Conversation::Nonsense();
  RETURN_IF_ERROR(talk.Send(&kDecoderGoOn, 1));

  for (auto& [side, pixels] : by_side) {
    auto picture = std::make_shared<Pixels>();
    RETURN_IF_ERROR(ReceivePicture(talk, header.pixel_count, picture.get(), &decoded));
    if (!decoded.problem.empty()) return decoded;
    pixels = std::move(picture);
  }
  for (const int64_t side : order.sides) decoded.pixels.push_back(by_side[side]);
  return decoded;
}

DecodedPicture DeathOf(int wait_status) {
  DecodedPicture bad;
  if (WIFEXITED(wait_status)) {
    bad.problem = absl::StrCat("its decoder ended with status ", WEXITSTATUS(wait_status));
    return bad;
  }
  const int number = WTERMSIG(wait_status);
  // What a decoder raises by its own doing comes from the picture.
  bad.may_pass = number == SIGXCPU || number == SIGKILL || number == SIGTERM || number == SIGBUS;
  bad.problem = number == SIGXCPU ? "decoding it took more CPU time than limits.max_decode_time"
                                  : absl::StrCat("its decoder was killed by signal ", number, " (",
                                                 ::strsignal(number), ")");
  return bad;
}

}  // namespace

DecoderPool::~DecoderPool() {
  for (DecoderProcess& process : idle_) static_cast<void>(starter_->End(std::move(process)));
}

absl::StatusOr<DecodedPicture> DecoderPool::Decode(absl::string_view bytes,
                                                   const DecodeOrder& order,
                                                   const CallContext& call) {
  const int64_t cpu_seconds = absl::ToInt64Seconds(timeout_) + 1;
  int64_t admitted = 0;  // pixels
  DecodedPicture bad;
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(DecoderProcess process, Take(call));
    Conversation talk(process.socket.get(), timeout_, call);
    absl::StatusOr<DecodedPicture> decoded = Exchange(talk, bytes, order, cpu_seconds, &admitted);
    if (decoded.ok()) {
      MutexLock lock(mutex_);
      idle_.push_back(std::move(process));
      return decoded;
    }
    const absl::Status& status = decoded.status();
    if (!absl::IsDataLoss(status) && (!absl::IsDeadlineExceeded(status) || call.expired())) {
      RETURN_IF_ERROR(starter_->End(std::move(process)).status());
      return status;
    }
    ASSIGN_OR_RETURN(bad, Bury(std::move(process), status));
  }
  return bad;
}

int64_t DecoderPool::lost_count() const {
  MutexLock lock(mutex_);
  return lost_count_;
}

absl::StatusOr<DecoderProcess> DecoderPool::Take(const CallContext& call) {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      DecoderProcess process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
  }
  ASSIGN_OR_RETURN(DecoderProcess process, starter_->Start());
  char hello = 0;
  const absl::Status ready =
      Conversation(process.socket.get(), timeout_, call).Receive(&hello, sizeof(hello));
  if (ready.ok() && hello == kDecoderHello) return process;
  // No picture is to blame for one that never began.
  static_cast<void>(starter_->End(std::move(process)));
  if (absl::IsCancelled(ready)) return ready;
  return absl::UnavailableError("a decoder ended before it had begun; is memory left?");
}

absl::StatusOr<DecodedPicture> DecoderPool::Bury(DecoderProcess process, const absl::Status& why) {
  ASSIGN_OR_RETURN(const int wait_status, starter_->End(std::move(process)));
  {
    MutexLock lock(mutex_);
    ++lost_count_;
  }
  DecodedPicture bad;
  if (absl::IsDeadlineExceeded(why)) {
    bad.problem = absl::StrCat("decoding it took longer than ", absl::FormatDuration(timeout_),
                               ", limits.max_decode_time");
    bad.may_pass = true;
    return bad;
  }
  if (why.message() == Conversation::Nonsense().message()) {
    bad.problem = std::string(why.message());
    return bad;
  }
  return DeathOf(wait_status);
}

}  // namespace sightline
