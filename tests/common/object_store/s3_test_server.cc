#include "tests/common/object_store/s3_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace sightline {
namespace {

constexpr char kMarkHeader[] = "x-amz-meta-sightline-sha256";

// In the order of S3Fault::Kind.
constexpr const char* kKindNames[] = {
    "answer", "reset",       "reset_after", "truncate",
    "stall",  "wrong_range", "damage",      "ignore_if_none_match"};

std::string Xml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// As encoding-type=url has it.
std::string UrlEncoded(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._*/", absl::string_view(&c, 1))) {
      encoded += c;
    } else if (c == ' ') {
      encoded += '+';
    } else {
      absl::StrAppend(&encoded, "%",
                      absl::AsciiStrToUpper(absl::BytesToHexString(absl::string_view(&c, 1))));
    }
  }
  return encoded;
}

std::string Iso(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string OperationOf(const httplib::Request& request, const std::string& key) {
  const std::string& method = request.method;
  if (request.has_param("uploads")) return method == "POST" ? "CreateUpload" : "ListUploads";
  if (request.has_param("uploadId")) {
    return method == "PUT" ? "UploadPart" : method == "POST" ? "CompleteUpload" : "AbortUpload";
  }
  if (key.empty()) return "ListObjects";
  if (method == "GET") return "GetObject";
  if (method == "HEAD") return "HeadObject";
  return method == "PUT" ? "PutObject" : "DeleteObject";
}

int IntParam(const httplib::Request& request, const char* name, int otherwise) {
  int value = otherwise;
  (void)absl::SimpleAtoi(request.get_param_value(name), &value);
  return value;
}

}  // namespace

// One request whose signature is right, and its answer.
class S3TestServer::Exchange {
 public:
  Exchange(S3TestServer* server, const httplib::Request& request, httplib::Response& response,
           std::string key, S3Fault::Kind* fault)
      : server_(server),
        request_(request),
        // The library would cut whatever is answered by itself, and not as S3 does.
        ranges_(std::exchange(const_cast<httplib::Request&>(request).ranges, {})),
        response_(response),
        key_(std::move(key)),
        fault_(fault) {}

  void Error(int status, absl::string_view code, absl::string_view more = "") {
    response_.status = status;
    response_.set_content(
        absl::StrCat("<?xml version=\"1.0\"?><Error><Code>", code, "</Code><Message>about ",
                     Xml(request_.path), "</Message>", more, "</Error>"),
        "application/xml");
  }

  void Run(const std::string& operation) {
    if (operation == "GetObject" || operation == "HeadObject") return Get();
    if (operation == "PutObject") return Put();
    if (operation == "ListObjects") return List();
    if (operation == "CreateUpload") return CreateUpload();
    if (operation == "UploadPart") return UploadPart();
    if (operation == "CompleteUpload") return CompleteUpload();
    if (operation == "ListUploads") return ListUploads();
    if (operation == "AbortUpload") return AbortUpload();
    objects().Remove(key_);
    response_.status = 204;
  }

 private:
  TestObjects& objects() { return server_->objects_; }
  bool Has(S3Fault::Kind kind) const { return fault_ != nullptr && *fault_ == kind; }
  std::string Param(const char* name) const { return request_.get_param_value(name); }

  void Get() {
    TestObject object;
    if (!objects().Get(key_, &object)) return Error(404, "NoSuchKey");
    response_.set_header("ETag", object.etag());
    response_.set_header("Last-Modified", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT",
                                                           object.written, absl::UTCTimeZone()));
    if (!object.mark.empty()) response_.set_header(kMarkHeader, object.mark);
    response_.status = 200;
    if (!ranges_.empty() && !CutToRange(&object.bytes)) return;
    response_.set_content(object.bytes, "application/octet-stream");
  }

  // False if it does not lie in the object.
  bool CutToRange(std::string* bytes) {
    auto [first, last] = ranges_[0];
    const auto size = static_cast<ssize_t>(bytes->size());
    if (first >= size) {
      Error(416, "InvalidRange");
      return false;
    }
    if (Has(S3Fault::kWrongRange)) ++first, ++last;
    last = std::min<ssize_t>(last, size - 1);
    response_.status = 206;
    response_.set_header("Content-Range", absl::StrCat("bytes ", first, "-", last, "/", size));
    *bytes = bytes->substr(first, last - first + 1);
    return true;
  }

  void Put() {
    const bool only_new =
        request_.get_header_value("If-None-Match") == "*" && !Has(S3Fault::kIgnoreIfNoneMatch);
    const TestObject object{request_.get_header_value(kMarkHeader), server_->options_.now(),
                            request_.body};
    if (!objects().Put(key_, object, only_new)) return Error(412, "PreconditionFailed");
    response_.set_header("ETag", object.etag());
    response_.status = 200;
  }

  void List() {
    const std::string token = Param("continuation-token");
    std::string after = Param("start-after");
    if (!token.empty() && !absl::Base64Unescape(token, &after))
      return Error(400, "InvalidArgument");
    const size_t most = std::min(IntParam(request_, "max-keys", 1000), server_->options_.page_keys);
    std::string items, last;
    size_t count = 0;
    bool more = false;
    for (const auto& [key, object] : objects().All()) {
      if (!absl::StartsWith(key, Param("prefix")) || key <= after) continue;
      if ((more = count == most)) break;
      absl::StrAppend(&items, "<Contents><Key>", UrlEncoded(key), "</Key><LastModified>",
                      Iso(object.written), "</LastModified><Size>", object.bytes.size(),
                      "</Size></Contents>");
      last = key;
      ++count;
    }
    if (more) {
      absl::StrAppend(&items, "<NextContinuationToken>", absl::Base64Escape(last),
                      "</NextContinuationToken>");
    }
    Answer("ListBucketResult", absl::StrCat("<EncodingType>url</EncodingType><IsTruncated>",
                                            more ? "true" : "false", "</IsTruncated>", items));
  }

  void CreateUpload() {
    const std::string id = objects().Begin(
        {key_, request_.get_header_value(kMarkHeader), server_->options_.now(), {}});
    Answer("InitiateMultipartUploadResult", absl::StrCat("<UploadId>", id, "</UploadId>"));
  }

  void UploadPart() {
    const int number = IntParam(request_, "partNumber", 0);
    if (!objects().PutPart(Param("uploadId"), number, request_.body)) {
      return Error(404, "NoSuchUpload");
    }
    response_.set_header("ETag", TestObject{"", {}, request_.body}.etag());
    response_.status = 200;
  }

  void CompleteUpload() {
    std::vector<int> numbers;
    for (absl::string_view part : absl::StrSplit(request_.body, "<PartNumber>")) {
      int number = 0;
      if (absl::SimpleAtoi(part.substr(0, part.find('<')), &number)) numbers.push_back(number);
    }
    if (!objects().Complete(Param("uploadId"), numbers, server_->options_.now())) {
      return Error(404, "NoSuchUpload");
    }
    Answer("CompleteMultipartUploadResult", absl::StrCat("<Key>", Xml(key_), "</Key>"));
  }

  void AbortUpload() {
    if (!objects().Abort(Param("uploadId"))) return Error(404, "NoSuchUpload");
    response_.status = 204;
  }

  // A page of `page_keys` as well, by id.
  void ListUploads() {
    std::string items, last_id, last_key;
    int count = 0;
    bool more = false;
    for (const auto& [id, upload] : objects().Uploads()) {
      if (!absl::StartsWith(upload.key, Param("prefix")) || id <= Param("upload-id-marker"))
        continue;
      if ((more = count == server_->options_.page_keys)) break;
      absl::StrAppend(&items, "<Upload><Key>", UrlEncoded(upload.key), "</Key><UploadId>", id,
                      "</UploadId><Initiated>", Iso(upload.begun), "</Initiated></Upload>");
      last_id = id;
      last_key = upload.key;
      ++count;
    }
    Answer("ListMultipartUploadsResult",
           absl::StrCat("<EncodingType>url</EncodingType><IsTruncated>", more ? "true" : "false",
                        "</IsTruncated><NextKeyMarker>", UrlEncoded(last_key),
                        "</NextKeyMarker><NextUploadIdMarker>", last_id, "</NextUploadIdMarker>",
                        items));
  }

  void Answer(absl::string_view root, absl::string_view content) {
    response_.status = 200;
    response_.set_content(absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?><", root,
                                       " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
                                       content, "</", root, ">"),
                          "application/xml");
  }

  S3TestServer* const server_;
  const httplib::Request& request_;
  const httplib::Ranges ranges_;
  httplib::Response& response_;
  const std::string key_;
  const S3Fault::Kind* const fault_;
};

S3TestServer::S3TestServer(S3TestServerOptions options)
    : options_(std::move(options)),
      objects_(options_.folder),
      server_(std::make_unique<httplib::Server>()) {
  const auto serve = [this](const httplib::Request& request, httplib::Response& response) {
    Serve(request, response);
  };
  server_->new_task_queue = [] { return new httplib::ThreadPool(16); };
  server_->set_tcp_nodelay(true);
  server_->set_keep_alive_max_count(1000);
  server_->set_keep_alive_timeout(1);
  server_->set_payload_max_length(size_t{1} << 30);
  server_->Post("/_fault", [this](const httplib::Request& request, httplib::Response& response) {
    InjectOverTheWire(request, response);
  });
  server_->Get(".*", serve).Put(".*", serve).Post(".*", serve).Delete(".*", serve);
  port_ = options_.port;
  if (port_ == 0) {
    port_ = server_->bind_to_any_port("127.0.0.1");
  } else if (!server_->bind_to_port("127.0.0.1", port_)) {
    port_ = -1;
  }
  if (port_ <= 0) throw std::runtime_error("cannot listen on 127.0.0.1");
  listener_ = std::thread([this] { server_->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::yield();
}

S3TestServer::~S3TestServer() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
    ended_changed_.NotifyAll();
  }
  server_->stop();
  listener_.join();
}

std::string S3TestServer::endpoint() const {
  return absl::StrCat("http://127.0.0.1:", port_);
}

void S3TestServer::Inject(S3Fault fault) {
  MutexLock lock(mutex_);
  faults_.push_back(std::move(fault));
}

int S3TestServer::requests(const std::string& operation) {
  MutexLock lock(mutex_);
  return requests_[operation];
}

void S3TestServer::InjectOverTheWire(const httplib::Request& request, httplib::Response& response) {
  const auto* const kind =
      std::find(std::begin(kKindNames), std::end(kKindNames), request.get_param_value("kind"));
  if (kind == std::end(kKindNames)) {
    response.status = 400;
    return;
  }
  S3Fault fault{static_cast<S3Fault::Kind>(kind - std::begin(kKindNames))};
  fault.operation = request.get_param_value("operation");
  fault.key_part = request.get_param_value("key_part");
  fault.times = IntParam(request, "times", fault.times);
  fault.skip = IntParam(request, "skip", fault.skip);
  fault.status = IntParam(request, "status", fault.status);
  if (request.has_param("body")) fault.body = request.get_param_value("body");
  Inject(std::move(fault));
}

absl::optional<S3Fault> S3TestServer::FaultOf(const std::string& operation,
                                              const std::string& key) {
  MutexLock lock(mutex_);
  ++requests_[operation];
  for (S3Fault& fault : faults_) {
    if (!fault.operation.empty() && fault.operation != operation) continue;
    if (!absl::StrContains(key, fault.key_part) || fault.times == 0) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.times > 0) --fault.times;
    return fault;
  }
  return absl::nullopt;
}

void S3TestServer::Serve(const httplib::Request& request, httplib::Response& response) {
  const std::string root = absl::StrCat("/", options_.bucket, "/");
  const std::string key =
      absl::StartsWith(request.path, root) ? request.path.substr(root.size()) : "";
  const std::string operation = OperationOf(request, key);
  absl::optional<S3Fault> fault = FaultOf(operation, key);
  Exchange exchange(this, request, response, key, fault.has_value() ? &fault->kind : nullptr);
  if (fault.has_value() && fault->kind == S3Fault::kReset) {
    return ResetConnection(request.remote_port);
  }
  if (fault.has_value() && fault->kind == S3Fault::kAnswer) {
    response.status = fault->status;
    return response.set_content(fault->body, "application/xml");
  }
  if (fault.has_value() && fault->kind == S3Fault::kDamage) {
    const_cast<httplib::Request&>(request).body += "!";
  }
  const std::string wrong = CheckSignature(request, options_.keys, options_.region, options_.now());
  if (wrong == "AuthorizationHeaderMalformed") {
    exchange.Error(400, wrong, absl::StrCat("<Region>", options_.region, "</Region>"));
  } else if (!wrong.empty()) {
    exchange.Error(wrong == "XAmzContentSHA256Mismatch" ? 400 : 403, wrong);
  } else if (!absl::StartsWith(request.path, root)) {
    exchange.Error(404, "NoSuchBucket");
  } else {
    exchange.Run(operation);
  }
  if (fault.has_value()) ApplyToAnswer(*fault, request, response);
}

void S3TestServer::ApplyToAnswer(const S3Fault& fault, const httplib::Request& request,
                                 httplib::Response& response) {
  if (fault.kind == S3Fault::kResetAfter) ResetConnection(request.remote_port);
  if (fault.kind != S3Fault::kTruncate && fault.kind != S3Fault::kStall) return;
  const std::string body = std::exchange(response.body, "");
  const bool stall = fault.kind == S3Fault::kStall;
  response.set_content_provider(body.size(), "application/octet-stream",
                                [this, body, stall](size_t, size_t, httplib::DataSink& sink) {
                                  sink.write(body.data(), body.size() / 2);
                                  if (stall) AwaitEnd();
                                  return false;
                                });
}

void S3TestServer::AwaitEnd() {
  MutexLock lock(mutex_);
  while (!ended_) ended_changed_.Wait(mutex_);
}

// The library does not tell which socket a request came by.
void S3TestServer::ResetConnection(int remote_port) const {
  for (int fd = 3; fd < 4096; ++fd) {
    sockaddr_in peer{}, self{};
    socklen_t length = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    length = sizeof(self);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&self), &length);
    if (ntohs(peer.sin_port) != remote_port || ntohs(self.sin_port) != port_) continue;
    // With nothing to wait for, an end of the connection is a reset of it.
    const linger at_once{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ::connect(fd, &nobody, sizeof(nobody));
  }
}

}  // namespace sightline
