// A TCP relay on loopback that makes a connection slow on purpose.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Relay> relay, Relay::Start("127.0.0.1:7403"));
//   ... connect to relay->address() instead ...
//   relay->SetDelay(absl::Milliseconds(50));
#ifndef SIGHTLINE_LOADTEST_FAULTS_RELAY_H_
#define SIGHTLINE_LOADTEST_FAULTS_RELAY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sightline {

struct RelayOptions {
  // What one direction of one connection may hold back; the sender then has to wait, as
  // before a slow receiver.  So a delay bounds what goes through to this much per delay:
  // with 50 ms and 4 MiB, 80 MiB a second.
  int64_t max_held_bytes = int64_t{4} << 20;
};

// Passes bytes between whoever connects to it and one address.  What one side ends
// (half-close) the other sees ended, in its place behind the bytes before it.  A reset,
// and a connection that the target does not take, are passed on at once as a reset; bytes
// that are held back then are lost, like those in a network.
//
// One thread, which sleeps unless bytes are to be moved; the delay is exact to about a
// millisecond, and never shorter.  It has no injected clock, because it waits in the
// kernel, for sockets and time at once.  Thread-safe.
class Relay {
 public:
  // To `target`, "IPv4 address:port"; InvalidArgument if it is none, else what the system
  // says.  Nobody needs to listen there yet.
  static absl::StatusOr<std::unique_ptr<Relay>> Start(absl::string_view target,
                                                      const RelayOptions& options = {});
  // Resets all connections.
  virtual ~Relay() = default;

  // Where it listens: a port of 127.0.0.1, the same as long as it lives.
  virtual int port() const = 0;
  std::string address() const;

  // Holds what comes from now on back for so long, in each direction; 0 at first.  Bytes
  // stay in order: after a shorter delay they wait for those before them.
  virtual void SetDelay(absl::Duration each_way) = 0;

  // Connections now, and bytes held back in all of them together.
  virtual int connections() const = 0;
  virtual int64_t held_bytes() const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_RELAY_H_
