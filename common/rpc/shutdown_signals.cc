#include "common/rpc/shutdown_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "common/base/mutex.h"

namespace sightline {
namespace {

// Tells the waiting thread that the object goes away; no signal has this number.
constexpr unsigned char kStop = 0;
// Likewise that the process asks for its own end.
constexpr unsigned char kEnd = 255;

// Where the handler writes; -1 while there is no object.
std::atomic<int> g_pipe{-1};

// Only what may be done in a signal handler.
void Forward(int signal) {
  const int saved_errno = errno;
  const unsigned char number = static_cast<unsigned char>(signal);
  const int pipe = g_pipe.load();
  if (pipe >= 0) (void)!::write(pipe, &number, 1);
  errno = saved_errno;
}

struct Ending {
  Mutex mutex;
  absl::Status why GUARDED_BY(mutex);
};

Ending& TheEnding() {
  static auto* const ending = new Ending;  // for threads that outlive main
  return *ending;
}

}  // namespace

struct ShutdownSignals::State {
  ~State() {
    for (const int end : pipe) {
      if (end >= 0) ::close(end);
    }
  }

  int pipe[2] = {-1, -1};
  struct sigaction term_before, int_before;
  Mutex mutex;
  CondVar arrived;
  int signal GUARDED_BY(mutex) = 0;  // until the first one
  bool listened GUARDED_BY(mutex) = false;
  const std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

ShutdownSignals::ShutdownSignals() : state_(std::make_shared<State>()) {
  // Without a pipe the handler forwards nothing and the process could not be told to
  // stop; leaving the default action in place is the honest fallback.
  if (::pipe2(state_->pipe, O_CLOEXEC) != 0) return;
  g_pipe = state_->pipe[1];
  thread_ = std::thread([state = state_] { Loop(state); });
  struct sigaction action = {};
  action.sa_handler = Forward;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, &state_->term_before);
  ::sigaction(SIGINT, &action, &state_->int_before);
}

ShutdownSignals::~ShutdownSignals() {
  if (!thread_.joinable()) return;
  ::sigaction(SIGTERM, &state_->term_before, nullptr);
  ::sigaction(SIGINT, &state_->int_before, nullptr);
  (void)!::write(state_->pipe[1], &kStop, 1);
  thread_.join();
  g_pipe = -1;
}

void ShutdownSignals::Loop(std::shared_ptr<State> state) {
  while (true) {
    unsigned char signal = 0;
    if (::read(state->pipe[0], &signal, 1) != 1) continue;  // interrupted
    if (signal == kStop) return;
    ReleasableMutexLock lock(state->mutex);
    if (signal == kEnd) {
      if (state->signal != 0) continue;  // it is about to end
      signal = SIGTERM;
    }
    // No destructors: the threads of a process that is told twice may be stuck.
    if (!state->listened || state->signal != 0) _exit(128 + signal);
    state->signal = signal;
    state->arrived.NotifyAll();
    lock.Unlock();
    state->cancellation->Cancel();
  }
}

int ShutdownSignals::Wait() {
  MutexLock lock(state_->mutex);
  state_->listened = true;
  while (state_->signal == 0) state_->arrived.Wait(state_->mutex);
  return state_->signal;
}

std::shared_ptr<Cancellation> ShutdownSignals::cancellation() {
  MutexLock lock(state_->mutex);
  state_->listened = true;
  return state_->cancellation;
}

void RequestEnd(const absl::Status& why) {
  {
    Ending& ending = TheEnding();
    MutexLock lock(ending.mutex);
    if (!ending.why.ok()) return;
    ending.why = why;
  }
  const int pipe = g_pipe.load();
  if (pipe < 0) {
    ::kill(::getpid(), SIGTERM);
  } else {
    (void)!::write(pipe, &kEnd, 1);
  }
}

absl::Status EndReason() {
  Ending& ending = TheEnding();
  MutexLock lock(ending.mutex);
  return ending.why;
}

}  // namespace sightline
