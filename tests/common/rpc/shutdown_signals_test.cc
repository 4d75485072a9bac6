#include "common/rpc/shutdown_signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

// A process of its own, with a pipe on which it says how far it has come.  Forked while
// the test has one thread only.
class Child {
 public:
  template <typename Main>
  explicit Child(const Main& main) {
    REQUIRE(::pipe(pipe_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    main([this] { (void)!::write(pipe_[1], "x", 1); });
    ::_exit(77);
  }
  ~Child() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

  void AwaitWord() {
    char word = 0;
    REQUIRE(::read(pipe_[0], &word, 1) == 1);
  }
  void Send(int signal) { REQUIRE(::kill(pid_, signal) == 0); }
  int ExitStatus() {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

 private:
  int pipe_[2];
  pid_t pid_;
};

TEST_CASE("Before anybody listens, a signal ends the process") {
  Child child([](const auto& say) {
    ShutdownSignals signals;
    say();
    while (true) ::pause();
  });
  child.AwaitWord();
  child.Send(SIGTERM);
  CHECK(child.ExitStatus() == 128 + SIGTERM);
}

TEST_CASE("The first signal is an event, the second ends the process") {
  Child child([](const auto& say) {
    ShutdownSignals signals;
    signals.cancellation();
    say();
    if (signals.Wait() == SIGINT) say();
    while (true) ::pause();
  });
  child.AwaitWord();
  child.Send(SIGINT);
  child.AwaitWord();
  child.Send(SIGTERM);
  CHECK(child.ExitStatus() == 128 + SIGTERM);
}

TEST_CASE("A process may ask for its own end, and ends in its own time for the first reason") {
  Child child([](const auto&) {
    ShutdownSignals signals;
    signals.cancellation();
    if (!EndReason().ok()) ::_exit(1);
    RequestEnd(absl::UnavailableError("first"));
    RequestEnd(absl::UnavailableError("second"));
    if (signals.Wait() != SIGTERM) ::_exit(2);
    ::_exit(EndReason().message() == "first" ? 3 : 4);
  });
  CHECK(child.ExitStatus() == 3);
}

TEST_CASE("A process that is about to end is not ended at once by asking for it") {
  Child child([](const auto& say) {
    ShutdownSignals signals;
    signals.cancellation();
    say();
    if (signals.Wait() != SIGTERM) ::_exit(1);
    RequestEnd(absl::UnavailableError("lost"));
    say();
    while (true) ::pause();
  });
  child.AwaitWord();
  child.Send(SIGTERM);
  child.AwaitWord();
  // Only a second one does; it comes behind what was asked for.
  child.Send(SIGINT);
  CHECK(child.ExitStatus() == 128 + SIGINT);
}

TEST_CASE("A process that was told once ends in its own time") {
  Child child([](const auto& say) {
    ShutdownSignals signals;
    signals.cancellation();
    say();
    signals.Wait();
    ::_exit(5);
  });
  child.AwaitWord();
  child.Send(SIGTERM);
  CHECK(child.ExitStatus() == 5);
}

TEST_CASE("A thread that does not block the signal may receive it") {
  Child child([](const auto& say) {
    std::thread older([] {
      while (true) ::pause();
    });
    ShutdownSignals signals;
    signals.cancellation();
    say();
    signals.Wait();
    ::_exit(5);
  });
  child.AwaitWord();
  child.Send(SIGTERM);
  CHECK(child.ExitStatus() == 5);
}

TEST_CASE("A job is cancelled by the signal, and the handlers are restored in the end") {
  struct sigaction before, after;
  ::sigaction(SIGTERM, nullptr, &before);
  {
    ShutdownSignals signals;
    Gate cancelled;
    const auto told = signals.cancellation()->OnCancel([&] { cancelled.Open(); });
    REQUIRE(::kill(::getpid(), SIGTERM) == 0);
    cancelled.Wait();
    CHECK(signals.Wait() == SIGTERM);
  }
  ::sigaction(SIGTERM, nullptr, &after);
  CHECK(after.sa_handler == before.sa_handler);
}

}  // namespace
}  // namespace sightline
