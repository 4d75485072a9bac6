#include "common/rpc/shutdown_signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace sightline {
namespace {

// Tells the waiting thread that the object goes away; not a signal that users send.
constexpr int kStop = SIGURG;

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, kStop);
  return signals;
}

}  // namespace

struct ShutdownSignals::State {
  std::mutex mutex;
  std::condition_variable arrived;
  int signal = 0;         // guarded by mutex; 0 until the first one
  bool listened = false;  // guarded by mutex
  bool stopping = false;  // guarded by mutex
  sigset_t mask_before;   // written once, before the thread starts
  const std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

ShutdownSignals::ShutdownSignals() : state_(std::make_shared<State>()) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, &state_->mask_before);
  thread_ = std::thread([state = state_] { Loop(state); });
}

ShutdownSignals::~ShutdownSignals() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stopping = true;
  }
  pthread_kill(thread_.native_handle(), kStop);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &state_->mask_before, nullptr);
}

void ShutdownSignals::Loop(std::shared_ptr<State> state) {
  const sigset_t signals = Signals();
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    std::unique_lock<std::mutex> lock(state->mutex);
    if (state->stopping) return;
    if (signal == kStop) continue;
    // No destructors: the threads of a process that is told twice may be stuck.
    if (!state->listened || state->signal != 0) _exit(128 + signal);
    state->signal = signal;
    state->arrived.notify_all();
    lock.unlock();
    state->cancellation->Cancel();
  }
}

int ShutdownSignals::Wait() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->listened = true;
  state_->arrived.wait(lock, [this] { return state_->signal != 0; });
  return state_->signal;
}

std::shared_ptr<Cancellation> ShutdownSignals::cancellation() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->listened = true;
  return state_->cancellation;
}

}  // namespace sightline
