// The `server:` section that every server's configuration has.
//
//   server:
//     listen: 0.0.0.0:7001          # host:port; port 0 takes a free one
//     metrics_listen: 0.0.0.0:9001  # IP:port; "" serves no metrics page
//     max_concurrent_calls: 64
//     ...
#ifndef SIGHTLINE_COMMON_RPC_RPC_OPTIONS_H_
#define SIGHTLINE_COMMON_RPC_RPC_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/base/server_address.h"
#include "common/config/config.h"

namespace sightline {

struct RpcServerOptions {
  // `listen`: where gRPC is served.
  std::string listen = "127.0.0.1:0";

  // Who may connect, and how.  No key sets it while there is one kind.
  Credentials credentials;

  // `metrics_listen`: where the metrics page is served; empty for nowhere.
  std::string metrics_listen = "127.0.0.1:0";

  // `max_concurrent_calls`: calls in progress; one more is refused at once with
  // RESOURCE_EXHAUSTED.  Most of them wait, each with a stack of its own, so this
  // is a limit on memory and queueing, not on cores.  Raise it with the load that one
  // replica shall carry.
  int max_concurrent_calls = 64;

  // `max_receive_bytes`: of one request message; a longer one is RESOURCE_EXHAUSTED.
  int64_t max_receive_bytes = int64_t{16} << 20;

  // `max_in_flight_bytes`: memory of the requests of all calls in progress together, as
  // request_memory.h counts it.  A call whose request does not fit beside them is refused with
  // RESOURCE_EXHAUSTED before it is read.
  int64_t max_in_flight_bytes = int64_t{256} << 20;

  // `memory_quota`: what gRPC may hold in buffers for all calls together: requests that are
  // arriving or wait to be read.  Beyond it gRPC ends calls, late: of many uploads at once some
  // times as much comes in.
  int64_t memory_quota_bytes = int64_t{512} << 20;

  // `default_deadline`: for a call that comes without one.
  absl::Duration default_deadline = absl::Seconds(5);

  // `max_deadline`: a later deadline is cut to this, so that nobody holds a place
  // longer.
  absl::Duration max_deadline = absl::Seconds(60);

  // `drain_delay`: how long the server still takes calls after it reported NOT_SERVING,
  // so that callers can look away before they are refused.
  absl::Duration drain_delay = absl::ZeroDuration();

  // `drain_timeout`: how long calls in progress may take to end; then they are cancelled.
  absl::Duration drain_timeout = absl::Seconds(10);

  // `max_connection_age`: how long a connection takes new calls, give or take a tenth, which
  // gRPC varies so that callers do not all come back at once.  Then it is closed when its
  // calls have ended; after `max_deadline` none but streams can be left, and they are ended.
  // Callers connect anew, and so find replicas that were added meanwhile.
  absl::Duration max_connection_age = absl::Minutes(5);

  // `reflection`: whether the server describes its services to tools like grpcurl.
  bool reflection = true;
};

// Reads the section `server` of `root`.  What it does not say is as in `defaults`, which
// gives each server its own ports.  Problems are noted in the reader's file.
RpcServerOptions ReadRpcServerOptions(ConfigReader root, const RpcServerOptions& defaults = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_RPC_OPTIONS_H_
