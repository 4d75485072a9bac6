#include <stdexcept>
#include <utility>

#include "common/base/status_macros.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_server.h"
#include "services/query_encoder/query_encoder_config.h"
#include "services/query_encoder/query_encoder_server.h"
#include "services/reranker/reranker_config.h"
#include "services/reranker/reranker_server.h"
#include "services/router/router_config.h"
#include "services/router/router_server.h"
#include "tests/integration/member.h"

namespace sightline {
namespace {

absl::StatusOr<std::unique_ptr<ServerProcess>> Make(const std::string& service, ConfigFile* file) {
  if (service == "router") {
    ASSIGN_OR_RETURN(const RouterConfig config, ReadRouterConfig(file));
    return std::make_unique<RouterServer>(config);
  }
  if (service == "query_encoder") {
    ASSIGN_OR_RETURN(const QueryEncoderConfig config, ReadQueryEncoderConfig(file));
    return std::make_unique<QueryEncoderServer>(config);
  }
  if (service == "index_search") {
    ASSIGN_OR_RETURN(const IndexSearchConfig config, ReadIndexSearchConfig(file));
    return std::make_unique<IndexSearchServer>(config);
  }
  ASSIGN_OR_RETURN(const RerankerConfig config, ReadRerankerConfig(file));
  return std::make_unique<RerankerServer>(config);
}

class InProcessMember : public Member {
 public:
  explicit InProcessMember(std::unique_ptr<ServerProcess> server)
      : server_(std::move(server)),
        port_(server_->rpc()->port()),
        metrics_port_(server_->rpc()->metrics_port()) {}

  int port() const override { return port_; }
  int metrics_port() const override { return metrics_port_; }
  void Kill() override { server_.reset(); }
  int Terminate() override {
    server_->rpc()->Drain();
    server_.reset();
    return 0;
  }
  bool alive() override { return server_ != nullptr; }
  int pid() const override { return 0; }

 private:
  std::unique_ptr<ServerProcess> server_;
  const int port_;
  const int metrics_port_;
};

}  // namespace

std::unique_ptr<Member> LaunchInProcess(const std::string& service, const std::string& yaml) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(yaml, service + ".yaml");
  if (!file.ok()) throw std::runtime_error(file.status().ToString());
  absl::StatusOr<std::unique_ptr<ServerProcess>> server = Make(service, &*file);
  if (!server.ok()) throw std::runtime_error(server.status().ToString());
  const absl::Status started = (*server)->Start(std::make_shared<Cancellation>());
  if (!started.ok()) throw std::runtime_error(service + ": " + started.ToString());
  return std::make_unique<InProcessMember>(*std::move(server));
}

}  // namespace sightline
