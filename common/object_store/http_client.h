// HTTP/1.1 requests over libcurl, bounded in every direction.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_HTTP_CLIENT_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_HTTP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/object_store/sigv4.h"

namespace sightline {

// Of headers altogether; and of the body of an answer that is no success, the rest of which is
// not read.
inline constexpr int64_t kMaxHttpHeaderBytes = 64 << 10;
inline constexpr int64_t kMaxHttpErrorBytes = 64 << 10;

struct HttpRequest {
  std::string method;  // GET, HEAD, PUT, POST or DELETE
  std::string url;     // sent as it stands
  NamesAndValues headers;
  absl::string_view body;  // of PUT and POST; stays until the answer is there
  int64_t max_answer_bytes = int64_t{1} << 20;
  // Takes no connection that was used before.  On one of those a request may be sent twice, since
  // a server that closes it says not whether it had read the first.
  bool fresh_connection = false;
  // Through no proxy, whatever the environment says.
  bool direct = false;
  // How long the server may think; zero is the client's `stall_time`.
  absl::Duration patience;
};

struct HttpAnswer {
  int status = 0;
  NamesAndValues headers;  // names in lower case
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  // Empty if there is no such header; `name` in lower case.
  absl::string_view Header(absl::string_view name) const;
};

struct HttpOptions {
  std::string ca_bundle;  // whose certificates are trusted, a file; empty: the system's
  absl::Duration connect_timeout = absl::Seconds(10);
  // A transfer that moves less than `stall_bytes` in `stall_time` by the call's clock is given up.
  absl::Duration stall_time = absl::Seconds(30);
  int64_t stall_bytes = 32 << 10;
};

// Thread-safe.  Connections are kept and used again.  Certificates are verified, redirects are
// answers like others, and proxies are those of https_proxy and no_proxy, as curl has them.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // An answer of any status, whole.  UNAVAILABLE: no connection, or it broke or stalled before the
  // end; RESOURCE_EXHAUSTED: a body of more than `max_answer_bytes`, or headers of more than
  // kMaxHttpHeaderBytes; FAILED_PRECONDITION: a certificate that is not trusted;
  // INVALID_ARGUMENT: a URL that is none of http or https; CANCELLED or DEADLINE_EXCEEDED a
  // tenth of a second after `call` ends at the latest.  Messages name the host and no more of the
  // URL.
  absl::StatusOr<HttpAnswer> Do(const HttpRequest& request, const CallContext& call)
      EXCLUDES(mutex_);

 private:
  class Connection;

  std::unique_ptr<Connection> Take() EXCLUDES(mutex_);

  const HttpOptions options_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_HTTP_CLIENT_H_
