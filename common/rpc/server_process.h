// main() of every server, but for the server itself.
//
//   int main(int argc, char** argv) {
//     return RunServer<IndexSearchServer>(argc, argv, "index_search", ReadIndexSearchConfig);
//   }
//
//   index_search --config FILE     serves until SIGTERM or SIGINT
//   index_search --config FILE --check   says what is wrong with the configuration
#ifndef SIGHTLINE_COMMON_RPC_SERVER_PROCESS_H_
#define SIGHTLINE_COMMON_RPC_SERVER_PROCESS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/config/config.h"
#include "common/rpc/rpc_server.h"

namespace sightline {

// A server that can be started once.  Its destructor stops it.
class ServerProcess {
 public:
  virtual ~ServerProcess() = default;

  // Listens, loads what it serves and reports SERVING.  Cancelled, `stop` ends the loading, which
  // is no error.  An error leaves nothing running once the object is gone.
  virtual absl::Status Start(const std::shared_ptr<Cancellation>& stop) = 0;

  virtual RpcServer* rpc() = 0;
};

// Reads the whole configuration (ending with file->Finish()) and builds the server.
using MakeServer = std::function<absl::StatusOr<std::unique_ptr<ServerProcess>>(ConfigFile* file)>;

// Returns the exit status (common/config/exit_status.h): 0 after a drain, also when the signal came
// before the server had started; after RequestEnd (shutdown_signals.h) what its reason asks for.
int RunServerProcess(int argc, char** argv, const char* name, const MakeServer& make);

// Likewise with a Server that is made of what `read` makes of the configuration.
template <typename Server, typename Config>
int RunServer(int argc, char** argv, const char* name,
              absl::StatusOr<Config> (*read)(ConfigFile* file)) {
  return RunServerProcess(
      argc, argv, name, [read](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
        ASSIGN_OR_RETURN(const Config config, read(file));
        return std::make_unique<Server>(config);
      });
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_SERVER_PROCESS_H_
