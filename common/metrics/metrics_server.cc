#include "common/metrics/metrics_server.h"

#include <prometheus/exposer.h>

#include <exception>
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

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, int port)
    : exposer_(std::move(exposer)), port_(port) {}

MetricsServer::~MetricsServer() = default;

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
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(exposer), ports.front()));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("metrics page: cannot listen on ", address,
                                               "; is the port taken? (", error.what(), ")"));
  }
}

}  // namespace sightline
