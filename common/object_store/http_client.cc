#include "common/object_store/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// How long it may go unnoticed that a call has ended.
constexpr absl::Duration kLongestPoll = absl::Milliseconds(100);

bool StartCurl() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

HeaderList MakeHeaderList(const NamesAndValues& headers) {
  // A body is sent without asking first whether it is welcome.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : headers) {
    // "Name;" is how curl is told of a header without a value.
    list = curl_slist_append(
        list, (value.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", value)).c_str());
  }
  return HeaderList(list);
}

// scheme://host:port of a URL, for messages.
absl::string_view Origin(absl::string_view url) {
  const size_t scheme = url.find("://");
  return url.substr(0, scheme == url.npos ? 0 : url.find_first_of("/?", scheme + 3));
}

absl::StatusCode CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::StatusCode::kInvalidArgument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// What moves in one request.
struct Transfer {
  const HttpRequest* request = nullptr;
  HttpAnswer answer;
  size_t sent = 0;
  int64_t header_bytes = 0;
  int64_t moved = 0;  // bytes of both directions
  bool headers_ended = false;
  bool too_much = false;
  bool cut = false;  // the body of an error, which is long enough

  int64_t MaxBody() const { return answer.ok() ? request->max_answer_bytes : kMaxHttpErrorBytes; }
};

size_t OnHeader(char* data, size_t /*one*/, size_t length, void* user) {
  auto* const transfer = static_cast<Transfer*>(user);
  const absl::string_view line(data, length);
  transfer->moved += length;
  transfer->header_bytes += length;
  transfer->too_much = transfer->header_bytes > kMaxHttpHeaderBytes;
  if (transfer->too_much) return 0;
  HttpAnswer& answer = transfer->answer;
  if (absl::StartsWith(line, "HTTP/")) {  // also after a 100
    answer.headers.clear();
    transfer->headers_ended = false;
    answer.status = 0;
    const size_t space = line.find(' ');
    if (space != line.npos) (void)absl::SimpleAtoi(line.substr(space + 1, 3), &answer.status);
    return length;
  }
  if (absl::StripAsciiWhitespace(line).empty()) transfer->headers_ended = true;
  const size_t colon = line.find(':');
  if (colon != line.npos) {
    answer.headers.emplace_back(absl::AsciiStrToLower(line.substr(0, colon)),
                                absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return length;
}

size_t OnBody(char* data, size_t /*one*/, size_t length, void* user) {
  auto* const transfer = static_cast<Transfer*>(user);
  transfer->moved += length;
  const int64_t room = transfer->MaxBody() - static_cast<int64_t>(transfer->answer.body.size());
  if (static_cast<int64_t>(length) <= room) {
    transfer->answer.body.append(data, length);
    return length;
  }
  (transfer->answer.ok() ? transfer->too_much : transfer->cut) = true;
  return 0;
}

size_t OnSend(char* to, size_t one, size_t count, void* user) {
  auto* const transfer = static_cast<Transfer*>(user);
  const absl::string_view left = transfer->request->body.substr(transfer->sent);
  const size_t length = std::min(left.size(), one * count);
  std::memcpy(to, left.data(), length);
  transfer->sent += length;
  transfer->moved += length;
  return length;
}

int OnRewind(void* user, curl_off_t offset, int /*origin*/) {
  static_cast<Transfer*>(user)->sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// Looks whether enough has moved lately.
class StallWatch {
 public:
  StallWatch(absl::Duration time, int64_t bytes, absl::Time now)
      : time_(time), bytes_(bytes), since_(now) {}

  bool Stalled(int64_t moved, absl::Time now) {
    if (now - since_ < time_) return false;
    const bool stalled = moved - moved_before_ < bytes_;
    since_ = now;
    moved_before_ = moved;
    return stalled;
  }

 private:
  const absl::Duration time_;
  const int64_t bytes_;
  absl::Time since_;
  int64_t moved_before_ = 0;
};

}  // namespace

// One of curl's handles with the connections that it has open.
class HttpClient::Connection {
 public:
  Connection() : multi_(curl_multi_init()), easy_(curl_easy_init()) {}
  ~Connection() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool whole() const { return multi_ != nullptr && easy_ != nullptr; }

  absl::StatusOr<HttpAnswer> Run(const HttpOptions& options, const HttpRequest& request,
                                 const CallContext& call) {
    Transfer transfer;
    transfer.request = &request;
    const HeaderList headers = MakeHeaderList(request.headers);
    char reason[CURL_ERROR_SIZE] = "";
    Prepare(options, request, headers.get(), reason, &transfer);
    curl_multi_add_handle(multi_, easy_);
    absl::StatusOr<CURLcode> code = Perform(options, request, call, transfer);
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_reset(easy_);
    if (!code.ok()) return code.status();
    if (*code == CURLE_OK && !transfer.headers_ended) {
      return absl::UnavailableError(
          absl::StrCat(Origin(request.url), ": the answer broke off in its headers"));
    }
    if (*code == CURLE_OK || transfer.cut) return std::move(transfer.answer);
    if (transfer.too_much) {
      return absl::ResourceExhaustedError(absl::StrCat(
          Origin(request.url), " answered ", transfer.answer.status, " with headers of more than ",
          kMaxHttpHeaderBytes, " bytes or a body of more than ", request.max_answer_bytes));
    }
    const absl::string_view why = *reason != '\0' ? reason : curl_easy_strerror(*code);
    return absl::Status(CodeOf(*code), absl::StrCat(Origin(request.url), ": ", why));
  }

 private:
  template <typename Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }

  void Prepare(const HttpOptions& options, const HttpRequest& request, curl_slist* headers,
               char* reason, Transfer* transfer) {
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_PATH_AS_IS, 1L);
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_QUICK_EXIT, 1L);  // a name server that does not answer is not waited for
    Set(CURLOPT_ERRORBUFFER, reason);
    Set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(absl::ToInt64Milliseconds(options.connect_timeout)));
    if (!options.ca_bundle.empty()) Set(CURLOPT_CAINFO, options.ca_bundle.c_str());
    if (request.direct) Set(CURLOPT_NOPROXY, "*");
    if (request.fresh_connection) Set(CURLOPT_FRESH_CONNECT, 1L);
    Set(CURLOPT_HTTPHEADER, headers);
    Set(CURLOPT_HEADERFUNCTION, OnHeader);
    Set(CURLOPT_HEADERDATA, transfer);
    Set(CURLOPT_WRITEFUNCTION, OnBody);
    Set(CURLOPT_WRITEDATA, transfer);
    PrepareMethod(request, transfer);
  }

  void PrepareMethod(const HttpRequest& request, Transfer* transfer) {
    if (request.method == "HEAD") {
      Set(CURLOPT_NOBODY, 1L);
    } else if (request.method == "PUT" || request.method == "POST") {
      Set(CURLOPT_UPLOAD, 1L);
      Set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      Set(CURLOPT_READFUNCTION, OnSend);
      Set(CURLOPT_READDATA, transfer);
      Set(CURLOPT_SEEKFUNCTION, OnRewind);
      Set(CURLOPT_SEEKDATA, transfer);
    }
    if (request.method != "HEAD") Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  // Until the transfer ends by itself, or must.
  absl::StatusOr<CURLcode> Perform(const HttpOptions& options, const HttpRequest& request,
                                   const CallContext& call, const Transfer& transfer) {
    const bool patient = request.patience > absl::ZeroDuration();
    const absl::Duration stall_time = patient ? request.patience : options.stall_time;
    StallWatch watch(stall_time, options.stall_bytes, call.clock()->Now());
    while (true) {
      RETURN_IF_ERROR(call.Check(Origin(request.url)));
      int running = 0;
      if (curl_multi_perform(multi_, &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) return Result();
      if (watch.Stalled(transfer.moved, call.clock()->Now())) {
        return absl::UnavailableError(absl::StrCat(Origin(request.url), ": fewer than ",
                                                   options.stall_bytes, " bytes moved in ",
                                                   absl::FormatDuration(stall_time)));
      }
      const absl::Duration wait = std::min(call.remaining(), kLongestPoll);
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1,
                      nullptr);
    }
  }

  CURLcode Result() {
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi_, &left);
    return message != nullptr && message->msg == CURLMSG_DONE ? message->data.result
                                                              : CURLE_FAILED_INIT;
  }

  CURLM* const multi_;
  CURL* const easy_;
};

absl::string_view HttpAnswer::Header(absl::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return value;
  }
  return "";
}

HttpClient::HttpClient(HttpOptions options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Connection> HttpClient::Take() {
  MutexLock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connection>();
  std::unique_ptr<Connection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

absl::StatusOr<HttpAnswer> HttpClient::Do(const HttpRequest& request, const CallContext& call) {
  std::unique_ptr<Connection> connection = StartCurl() ? Take() : nullptr;
  if (connection == nullptr || !connection->whole()) {
    return absl::ResourceExhaustedError("curl cannot be started; is there memory left?");
  }
  absl::StatusOr<HttpAnswer> answer = connection->Run(options_, request, call);
  MutexLock lock(mutex_);
  idle_.push_back(std::move(connection));
  return answer;
}

}  // namespace sightline
