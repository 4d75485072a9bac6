#include "services/corpus_encoder/decoder_starter.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// Over a socket that keeps messages apart.
struct Question {
  pid_t end = 0;  // the decoder to be ended; 0: start one
};

// With the decoder's socket beside it, when one was started.
struct Answer {
  int error_number = 0;
  pid_t pid = 0;
  int wait_status = 0;
};

absl::Status Refused(absl::string_view what, int error_number) {
  return absl::UnavailableError(
      absl::StrCat(what, ": ", std::generic_category().message(error_number)));
}

// Room for one descriptor beside a message.
union Control {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr alignment;
};

bool SendAnswer(int control, Answer answer, int descriptor) {
  iovec part = {&answer, sizeof(answer)};
  Control space = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = space.bytes;
    message.msg_controllen = sizeof(space.bytes);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return ::sendmsg(control, &message, MSG_NOSIGNAL) == sizeof(answer);
}

// The descriptor, if one came along, is the caller's.
bool ReceiveAnswer(int control, Answer* answer, int* descriptor) {
  iovec part = {answer, sizeof(*answer)};
  Control space = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof(space.bytes);
  ssize_t got = 0;
  do {
    got = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  *descriptor = -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(descriptor, CMSG_DATA(header), sizeof(int));
  }
  return got == sizeof(*answer);
}

// In the starter: forks a decoder.  Returns in the starter only.
bool StartOne(int control, const DecodeFunction& decode) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return SendAnswer(control, {errno}, -1);
  }
  Descriptor ours(ends[0]), decoders(ends[1]);
  const pid_t starter = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return SendAnswer(control, {errno}, -1);
  if (pid == 0) {
    // Without the starter nobody could end one that hangs.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != starter) ::_exit(0);
    // A decoder that held the starter's socket would keep the starter alive.
    ::close(control);
    ours.Close();
    ServeDecoding(decoders.get(), decode);
    ::_exit(0);
  }
  return SendAnswer(control, {0, pid}, ours.get());
}

// waitpid, whatever interrupts it.
pid_t Reap(pid_t pid, int* wait_status, int options) {
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(pid, wait_status, options);
  } while (reaped < 0 && errno == EINTR);
  return reaped;
}

// In the starter: its child's number is nobody else's until it is reaped.
bool EndOne(int control, pid_t pid) {
  Answer answer;
  answer.pid = pid;
  pid_t reaped = Reap(pid, &answer.wait_status, WNOHANG);
  if (reaped == 0) {
    ::kill(pid, SIGKILL);
    reaped = Reap(pid, &answer.wait_status, 0);
  }
  if (reaped < 0) answer.error_number = errno;
  return SendAnswer(control, answer, -1);
}

// Keeps `socket` and the standard streams, nothing else that this program has open.
int KeepOnly(int socket) {
  constexpr int kKept = STDERR_FILENO + 1;
  if (socket != kKept) ::dup2(socket, kKept);
  ::close_range(kKept + 1, ~0U, 0);
  return kKept;
}

[[noreturn]] void RunStarter(int socket, const DecodeFunction& decode) {
  const int control = KeepOnly(socket);
  // A Ctrl-C reaches the whole group; the job ends in order and closes the socket.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  // What a crash calls in this program is none of a decoder's business.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(number, SIG_DFL);
  for (;;) {
    Question question;
    const ssize_t got = ::recv(control, &question, sizeof(question), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(question)) ::_exit(0);
    const bool answered =
        question.end == 0 ? StartOne(control, decode) : EndOne(control, question.end);
    if (!answered) ::_exit(0);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DecoderStarter>> DecoderStarter::Create(DecodeFunction decode) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Refused("start the starter of decoders", errno);
  }
  Descriptor ours(ends[0]), starters(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Refused("start the starter of decoders", errno);
  if (pid == 0) {
    RunStarter(starters.get(), decode);
  }
  return std::unique_ptr<DecoderStarter>(new DecoderStarter(pid, std::move(ours)));
}

DecoderStarter::~DecoderStarter() {
  ::kill(pid_, SIGKILL);
  Reap(pid_, nullptr, 0);
}

absl::StatusOr<DecoderProcess> DecoderStarter::Start() {
  MutexLock lock(mutex_);
  const Question question;
  Answer answer;
  int socket = -1;
  const bool answered =
      ::send(control_.get(), &question, sizeof(question), MSG_NOSIGNAL) == sizeof(question) &&
      ReceiveAnswer(control_.get(), &answer, &socket);
  DecoderProcess process{answer.pid, Descriptor(socket)};
  if (!answered) return absl::UnavailableError("start a decoder: the process that does has died");
  if (answer.error_number != 0) return Refused("start a decoder", answer.error_number);
  if (socket < 0) return absl::UnavailableError("start a decoder: no descriptor is left for it");
  return process;
}

absl::StatusOr<int> DecoderStarter::End(DecoderProcess process) {
  MutexLock lock(mutex_);
  const Question question{process.pid};
  Answer answer;
  int none = -1;
  const bool answered =
      ::send(control_.get(), &question, sizeof(question), MSG_NOSIGNAL) == sizeof(question) &&
      ReceiveAnswer(control_.get(), &answer, &none);
  if (!answered) return absl::UnavailableError("end a decoder: the process that does has died");
  if (answer.error_number != 0) return Refused("end a decoder", answer.error_number);
  return answer.wait_status;
}

}  // namespace sightline
