// SIGTERM and SIGINT, turned from interruptions into an event.
//
//   int main(int argc, char** argv) {
//     ...
//     ShutdownSignals signals;
#ifndef SIGHTLINE_COMMON_RPC_SHUTDOWN_SIGNALS_H_
#define SIGHTLINE_COMMON_RPC_SHUTDOWN_SIGNALS_H_

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "common/base/call_context.h"

namespace sightline {

// Handles both signals and waits for them in a thread of its own.  A handler rather than
// blocked signals, because OpenBLAS starts threads before main, and the kernel may choose
// any thread that does not block a signal.
//
// Until somebody listens (has called Wait or cancellation) a signal ends the process at
// once, as it would by default: nothing has been begun that is worth ending well.  From
// then on the first signal is the event, and a second one ends the process at once, with
// status 128 + signal.  Make one per process, and keep it until the end.
class ShutdownSignals {
 public:
  ShutdownSignals();
  // Restores the handlers that were there.
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  // Blocks until the first signal; returns its number.
  int Wait();

  // Cancelled at the first signal: for jobs, which stop between two units of work, and servers
  // that load.
  std::shared_ptr<Cancellation> cancellation();

 private:
  struct State;
  static void Loop(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

// Ends the process as a first SIGTERM does, for want of something that only another process may get
// back; one that is about to end goes on with that.  The first reason counts.  Thread-safe.
void RequestEnd(const absl::Status& why);

// Why RequestEnd was called; OK if it never was.  Thread-safe.
absl::Status EndReason();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_SHUTDOWN_SIGNALS_H_
