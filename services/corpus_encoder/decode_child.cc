#include "services/corpus_encoder/decode_child.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr int64_t kMemorySlack = int64_t{64} << 20;

bool SendAll(int socket, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int socket, void* data, size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket, next, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

int64_t AddressSpaceBytes() {
  int64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    long long first = 0;
    if (std::fscanf(file, "%lld", &first) == 1) pages = first;
    std::fclose(file);
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

// The hard limits stay, so that the soft ones can move from picture to picture.
void LimitSoftly(int resource, int64_t value) {
  struct rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min(static_cast<rlim_t>(value), limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

int64_t CpuSecondsUsed() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
}

std::string OutOfMemory(int64_t byte_count) {
  return absl::StrCat("decoding it takes more memory than the ", byte_count >> 20,
                      " MiB that it may");
}

// The kernel's highest score: where it has to end a process, it should be a decoder.
void OfferToOomKiller() {
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
}

std::string Shortened(std::string text) {
  if (text.empty()) text = "it does not decode";
  text.resize(std::min(text.size(), static_cast<size_t>(kMaxDecodeProblemBytes)));
  return text;
}

class Server {
 public:
  Server(int socket, const DecodeFunction& decode)
      : socket_(socket), decode_(decode), base_(AddressSpaceBytes()) {}

  // False when the other end is gone.
  bool ServeOne() {
    DecodeRequest request;
    if (!ReceiveAll(socket_, &request, sizeof(request))) return false;
    std::vector<int64_t> sides(static_cast<size_t>(request.side_count));
    if (!ReceiveAll(socket_, sides.data(), sides.size() * sizeof(int64_t))) return false;
    std::string bytes(static_cast<size_t>(request.byte_count), '\0');
    if (!ReceiveAll(socket_, bytes.data(), bytes.size())) return false;
    // The last picture's memory may not be back with the system, and need not be.
    LimitMemory(request.limits.max_pixels, request.limits.max_bytes);
    LimitSoftly(RLIMIT_CPU, CpuSecondsUsed() + request.cpu_seconds + 1);

    const absl::StatusOr<ImageHeader> header = ReadImageHeader(bytes, request.limits);
    DecodeHeader answer;
    const std::string problem =
        header.ok() ? "" : Shortened(std::string(header.status().message()));
    answer.problem_bytes = static_cast<int64_t>(problem.size());
    if (header.ok()) answer.pixel_count = int64_t{header->width} * header->height;
    if (!SendAll(socket_, &answer, sizeof(answer))) return false;
    if (!header.ok()) return SendAll(socket_, problem.data(), problem.size());
    LimitMemory(answer.pixel_count, request.byte_count);
    char go_on = 0;
    return ReceiveAll(socket_, &go_on, 1) && Answer(request.limits, sides, bytes);
  }

 private:
  void LimitMemory(int64_t pixel_count, int64_t byte_count) {
    memory_ = DecodeMemoryBytes(pixel_count, byte_count);
    LimitSoftly(RLIMIT_AS, base_ + memory_);
  }

  bool Answer(const DecodeLimits& limits, const std::vector<int64_t>& sides,
              const std::string& bytes) {
    absl::StatusOr<Pixels> whole = WithinMemory([&] { return decode_(bytes, limits); });
    for (size_t i = 0; i < sides.size(); ++i) {
      const bool last = i + 1 == sides.size();
      const absl::StatusOr<Pixels> picture = WithinMemory([&]() -> absl::StatusOr<Pixels> {
        if (!whole.ok()) return whole.status();
        Pixels own = last ? *std::move(whole) : *whole;
        return sides[i] > 0 ? ReducePicture(std::move(own), sides[i]) : own;
      });
      if (!picture.ok()) return SendProblem(picture.status());
      if (!SendPicture(*picture)) return false;
    }
    return true;
  }

  // ResourceExhausted if there is not enough.
  template <typename Step>
  absl::StatusOr<Pixels> WithinMemory(const Step& step) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(OutOfMemory(memory_));
    }
  }

  bool SendProblem(const absl::Status& status) {
    const std::string problem = Shortened(std::string(status.message()));
    DecodeReply reply;
    reply.problem_bytes = static_cast<int64_t>(problem.size());
    reply.out_of_memory = absl::IsResourceExhausted(status) ? 1 : 0;
    return SendAll(socket_, &reply, sizeof(reply)) &&
           SendAll(socket_, problem.data(), problem.size());
  }

  bool SendPicture(const Pixels& picture) {
    DecodeReply reply;
    reply.width = picture.width;
    reply.height = picture.height;
    return SendAll(socket_, &reply, sizeof(reply)) &&
           SendAll(socket_, picture.rgb.data(), picture.rgb.size());
  }

  const int socket_;
  const DecodeFunction& decode_;
  const int64_t base_;
  int64_t memory_ = 0;  // that the present picture may take
};

}  // namespace

int64_t DecodeMemoryBytes(int64_t pixel_count, int64_t byte_count) {
  return pixel_count * kDecodeBytesPerPixel + 2 * byte_count + kMemorySlack;
}

void ServeDecoding(int socket, const DecodeFunction& decode) {
  LimitSoftly(RLIMIT_CORE, 0);
  OfferToOomKiller();
  Server server(socket, decode);
  if (!SendAll(socket, &kDecoderHello, 1)) return;
  while (server.ServeOne()) {
  }
}

}  // namespace sightline
