#include "common/metrics/metrics_server.h"

#include <netdb.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/metrics/registry_impl.h"

namespace sightline {
namespace {

// civetweb takes much more than an address (several of them, options, TLS), so the shape
// is checked here.
bool IsAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  int port = -1;
  const absl::string_view host = address.substr(0, colon);
  const bool host_ok = host.find_first_not_of("0123456789abcdefABCDEF.:[]") == host.npos;
  return host_ok && absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 &&
         port <= 65535;
}

// Connects to `host`:`port` and hangs up.
void Knock(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const int fd = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    (void)connect(fd, found->ai_addr, found->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(found);
}

// The host part of an address, without the brackets of IPv6.
std::string HostOf(absl::string_view address) {
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (!host.empty() && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return std::string(host);
}

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, std::string host,
                             int port)
    : exposer_(std::move(exposer)), host_(std::move(host)), port_(port) {}

MetricsServer::~MetricsServer() {
  // civetweb's listening thread looks every two seconds whether it should stop, or when
  // somebody connects.
  std::future<void> stopped = std::async(std::launch::async, [this] { exposer_.reset(); });
  while (stopped.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    Knock(host_, port_);
  }
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const MetricsRegistry* registry,
                                                                    absl::string_view address) {
  if (!IsAddress(address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metrics address \"", address, "\" is not IP:port, like 0.0.0.0:9001 or [::]:9001"));
  }
  try {
    // Two threads: one scraper may be slow while another comes.  A connection that says
    // nothing for ten seconds is closed.
    const std::vector<std::string> options = {
        "listening_ports", std::string(address), "num_threads", "2", "request_timeout_ms", "10000"};
    auto exposer = std::make_unique<prometheus::Exposer>(options);
    exposer->RegisterCollectable(registry->impl_->registry);
    const std::vector<int> ports = exposer->GetListeningPorts();
    if (ports.empty()) {
      return absl::UnavailableError(absl::StrCat("metrics page: nothing listens on ", address));
    }
    return std::unique_ptr<MetricsServer>(
        new MetricsServer(std::move(exposer), HostOf(address), ports.front()));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("metrics page: cannot listen on ", address,
                                               "; is the port taken? (", error.what(), ")"));
  }
}

}  // namespace sightline
