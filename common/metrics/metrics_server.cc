#include "common/metrics/metrics_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

struct Address {
  std::string host;  // without the brackets of IPv6
  int port = 0;
};

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  Address address;
  bool ok = colon != absl::string_view::npos && colon > 0 &&
            absl::SimpleAtoi(text.substr(colon + 1), &address.port) && address.port >= 0 &&
            address.port <= 65535;
  if (ok) {
    absl::string_view host = text.substr(0, colon);
    ok = host.find_first_not_of("0123456789abcdefABCDEF.:[]") == host.npos;
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    address.host = std::string(host);
  }
  if (ok) return address;
  return absl::InvalidArgumentError(absl::StrCat(
      "metrics address \"", text, "\" is not IP:port, like 0.0.0.0:9001 or [::]:9001"));
}

// Without SO_REUSEPORT, which httplib sets by default: two servers must not share a port
// unawares.
void SocketOptions(int fd) {
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

// A connection holds a thread until its request has come or the timeout has.  So these, and how
// short it is, say how many silent ones it takes to keep a scraper waiting for how long.
constexpr int kThreads = 32;
constexpr int kReadSeconds = 2;
constexpr int kWriteSeconds = 10;

void Configure(httplib::Server* server, const MetricsRegistry* registry) {
  server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server->set_read_timeout(kReadSeconds);
  server->set_write_timeout(kWriteSeconds);
  server->set_keep_alive_timeout(1);
  server->set_payload_max_length(1024);
  server->set_socket_options(SocketOptions);
  server->Get("/metrics", [registry](const httplib::Request&, httplib::Response& response) {
    response.set_content(registry->Render(), "text/plain; version=0.0.4; charset=utf-8");
  });
}

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<httplib::Server> server, int port)
    : server_(std::move(server)), port_(port), listener_([this] { server_->listen_after_bind(); }) {
  // stop() is heard only by a server that runs, and this version has no event for that.
  while (!server_->is_running()) std::this_thread::yield();
}

MetricsServer::~MetricsServer() {
  server_->stop();
  listener_.join();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const MetricsRegistry* registry,
                                                                    absl::string_view text) {
  absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) return address.status();
  auto server = std::make_unique<httplib::Server>();
  Configure(server.get(), registry);
  int port = address->port;
  if (port == 0) {
    port = server->bind_to_any_port(address->host.c_str());
  } else if (!server->bind_to_port(address->host.c_str(), port)) {
    port = -1;
  }
  if (port <= 0) {
    return absl::UnavailableError(
        absl::StrCat("metrics page: cannot listen on ", text, "; is the port taken?"));
  }
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(server), port));
}

}  // namespace sightline
