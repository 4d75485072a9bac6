#include "services/corpus_encoder/decoder_starter.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::unique_ptr<DecoderStarter> Started() {
  auto starter = DecoderStarter::Create(DecodeImage);
  REQUIRE(starter.ok());
  return *std::move(starter);
}

// A process of nobody's business; ends by itself when the test lets it.
class Stranger {
 public:
  Stranger() {
    REQUIRE(::pipe(ends_) == 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::close(ends_[1]);
    char byte;
    ::_exit(::read(ends_[0], &byte, 1) == 0 ? 0 : 1);
  }

  pid_t pid() const { return pid_; }

  // Once: as waitpid has it.
  int LetEnd() {
    ::close(ends_[1]);
    int status = -1;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    ::close(ends_[0]);
    return status;
  }

 private:
  int ends_[2];
  pid_t pid_ = 0;
};

DecoderProcess WithNumber(pid_t pid) {
  DecoderProcess process;
  process.pid = pid;
  return process;
}

pid_t ParentOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  while (file >> word && word != "PPid:") {
  }
  pid_t parent = 0;
  file >> parent;
  return parent;
}

// Waits until the far end of the socket is closed.
void AwaitEnd(int socket) {
  char byte;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
}

TEST_CASE("a decoder that runs is killed") {
  const auto starter = Started();
  auto process = starter->Start();
  REQUIRE(process.ok());
  const auto killed = starter->End(*std::move(process));
  REQUIRE(killed.ok());
  CHECK((WIFSIGNALED(*killed) && WTERMSIG(*killed) == SIGKILL));
}

TEST_CASE("a number that is no decoder's is an error, and nobody is signalled") {
  const auto starter = Started();
  Stranger stranger;
  CHECK(starter->End(WithNumber(stranger.pid())).status().code() == absl::StatusCode::kUnavailable);
  const int status = stranger.LetEnd();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(starter->Start().ok());
}

TEST_CASE("decoders end with their starter, and their numbers are signalled no more") {
  const auto starter = Started();
  auto process = starter->Start();
  REQUIRE(process.ok());
  Stranger stranger;
  REQUIRE(::kill(ParentOf(process->pid), SIGKILL) == 0);
  AwaitEnd(process->socket.get());
  CHECK(starter->Start().status().code() == absl::StatusCode::kUnavailable);
  CHECK(starter->End(WithNumber(stranger.pid())).status().code() == absl::StatusCode::kUnavailable);
  const int status = stranger.LetEnd();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

}  // namespace
}  // namespace sightline
