#include "common/object_store/http_client.h"

#include <httplib.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/common/object_store/raw_server.h"
#include "tests/common/object_store/tls_server.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

// Answers what it was asked, and counts connections.
class EchoServer {
 public:
  EchoServer() {
    const auto echo = [this](const httplib::Request& request, httplib::Response& response) {
      MutexLock lock(mutex_);
      ports_.insert(request.remote_port);
      response.set_header("X-Method", request.method);
      response.set_header("X-Target", request.target);
      response.set_header("X-Given", request.get_header_value("X-Given"));
      response.set_header("X-Expect", request.get_header_value("Expect"));
      response.set_content(request.body, "text/plain");
    };
    server_.Get("/moved", [](const httplib::Request&, httplib::Response& response) {
      response.set_redirect("http://127.0.0.1:1/elsewhere");
    });
    server_.Get(".*", echo).Put(".*", echo).Post(".*", echo).Delete(".*", echo);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~EchoServer() {
    server_.stop();
    thread_.join();
  }

  std::string url(absl::string_view path) const {
    return absl::StrCat("http://127.0.0.1:", port_, path);
  }
  size_t connections() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return ports_.size();
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  Mutex mutex_;
  std::set<int> ports_ GUARDED_BY(mutex_);
  std::thread thread_;
};

absl::StatusOr<HttpAnswer> AnswerTo(const std::string& bytes, HttpRequest request = {"GET"}) {
  const RawServer server([&](int socket) {
    ReadHeaders(socket);
    SendAll(socket, bytes);
  });
  request.url = server.url();
  return HttpClient({}).Do(request, kForever);
}

TEST_CASE("Each method is sent as it is, with headers and body") {
  EchoServer server;
  HttpClient client({});
  for (const char* const method : {"GET", "PUT", "POST", "DELETE", "HEAD"}) {
    INFO(method);
    const std::string body = *method == 'P' ? std::string(3'000'000, 'x') : "";
    HttpRequest request{method, server.url("/a/../b%2F?c=1&c=%20")};
    request.headers = {{"X-Given", "of us"}};
    request.body = body;
    request.max_answer_bytes = 4'000'000;
    const absl::StatusOr<HttpAnswer> answer = client.Do(request, kForever);
    INFO(answer.status());
    REQUIRE(answer.ok());
    CHECK(answer->status == 200);
    CHECK(answer->Header("x-method") == method);
    CHECK(answer->Header("x-target") == "/a/../b%2F?c=1&c=%20");
    CHECK(answer->Header("x-given") == "of us");
    CHECK(answer->Header("x-expect").empty());
    CHECK(answer->body == body);
  }
}

TEST_CASE("A body of nothing is sent as one") {
  EchoServer server;
  const absl::StatusOr<HttpAnswer> answer =
      HttpClient({}).Do({"POST", server.url("/a?uploads=")}, kForever);
  REQUIRE(answer.ok());
  CHECK(answer->Header("x-method") == "POST");
}

TEST_CASE("Connections are used again, except where a fresh one is asked for") {
  EchoServer server;
  HttpClient client({});
  HttpRequest request{"GET", server.url("/a")};
  for (int i = 0; i < 5; ++i) REQUIRE(client.Do(request, kForever).ok());
  CHECK(server.connections() == 1);
  request.fresh_connection = true;
  REQUIRE(client.Do(request, kForever).ok());
  CHECK(server.connections() == 2);
}

TEST_CASE("Many threads may ask at once") {
  EchoServer server;
  HttpClient client({});
  std::atomic<int> well{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        well += client.Do({"GET", server.url("/a")}, kForever).ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(well == 120);
}

TEST_CASE("A redirect is an answer, and nobody follows it") {
  EchoServer server;
  const auto answer = HttpClient({}).Do({"GET", server.url("/moved")}, kForever);
  REQUIRE(answer.ok());
  CHECK(answer->status == 302);
}

TEST_CASE("Only http and https are spoken") {
  for (const char* const url : {"file:///etc/passwd", "ftp://127.0.0.1/a", "gopher://127.0.0.1/",
                                "", "http://", "no URL"}) {
    INFO(url);
    CHECK_FALSE(HttpClient({}).Do({"GET", url}, kForever).ok());
  }
  CHECK(
      absl::IsInvalidArgument(HttpClient({}).Do({"GET", "file:///etc/passwd"}, kForever).status()));
}

TEST_CASE("A certificate is believed if it is trusted and of the host, and else nothing is sent") {
  const TempDir dir;
  const auto answer = [&](const std::string& address, bool trusted) {
    const TlsServerSide tls(address);
    const RawServer server(
        [&](int socket) { tls.Answer(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"); });
    HttpOptions options;
    if (trusted) options.ca_bundle = dir.File("trusted.pem");
    REQUIRE(WriteFileAtomically(dir.File("trusted.pem"), tls.certificate()).ok());
    return HttpClient(options).Do({"GET", server.url("https")}, kForever);
  };
  const auto believed = answer("127.0.0.1", true);
  INFO(believed.status());
  REQUIRE(believed.ok());
  CHECK(believed->body == "hi");
  CHECK(absl::IsFailedPrecondition(answer("127.0.0.1", false).status()));
  CHECK(absl::IsFailedPrecondition(answer("127.0.0.2", true).status()));
}

TEST_CASE("Trusted certificates that are not there are an error of their own") {
  HttpOptions options;
  options.ca_bundle = "/nowhere/ca.pem";
  const RawServer server([](int) {});
  const absl::Status status =
      HttpClient(options).Do({"GET", server.url("https")}, kForever).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Contains("/nowhere/ca.pem"));
}

TEST_CASE("Nobody who listens is UNAVAILABLE, and says where") {
  std::string url;
  {
    url = RawServer([](int) {}).url();
  }
  const absl::Status status = HttpClient({}).Do({"GET", url + "?secret"}, kForever).status();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("http://127.0.0.1:"));
  CHECK_THAT(std::string(status.message()), !Contains("secret"));
}

TEST_CASE("A connection that breaks before the answer has ended is UNAVAILABLE") {
  for (const char* const cut :
       {"", "HTT", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n"}) {
    INFO(cut);
    const absl::StatusOr<HttpAnswer> answer = AnswerTo(cut);
    INFO(answer.status());
    CHECK(absl::IsUnavailable(answer.status()));
  }
}

TEST_CASE("Headers of no HTTP are no answer") {
  CHECK_FALSE(AnswerTo("hello\r\n\r\n").ok());
}

TEST_CASE("A body has no more bytes than were asked for, whatever is announced") {
  HttpRequest request{"GET"};
  request.max_answer_bytes = 4;
  CHECK(AnswerTo("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234", request)->body == "1234");
  for (const char* const head :
       {"Content-Length: 5", "Content-Length: 9000000000000000000", "Transfer-Encoding: chunked",
        "Content-Length: 4\r\nTransfer-Encoding: chunked", "Connection: close"}) {
    INFO(head);
    const RawServer endless([&](int socket) {
      ReadHeaders(socket);
      SendAll(socket, absl::StrCat("HTTP/1.1 200 OK\r\n", head, "\r\n\r\n"));
      while (SendAll(socket, "5\r\n12345\r\n")) {
      }
    });
    request.url = endless.url();
    CHECK(absl::IsResourceExhausted(HttpClient({}).Do(request, kForever).status()));
  }
}

TEST_CASE("Of the body of an error there is no more than a bound, and it is an answer still") {
  const RawServer endless([](int socket) {
    ReadHeaders(socket);
    SendAll(socket, "HTTP/1.1 503 Slow Down\r\nConnection: close\r\n\r\n");
    while (SendAll(socket, std::string(1000, 'x'))) {
    }
  });
  HttpRequest request{"GET", endless.url()};
  request.max_answer_bytes = 1;
  const absl::StatusOr<HttpAnswer> answer = HttpClient({}).Do(request, kForever);
  REQUIRE(answer.ok());
  CHECK(answer->status == 503);
  CHECK(answer->body.size() <= kMaxHttpErrorBytes);
}

TEST_CASE("Headers without end are given up") {
  for (const std::string& piece : {std::string("X-More: 1\r\n"), std::string(1000, 'x')}) {
    const RawServer endless([&](int socket) {
      ReadHeaders(socket);
      SendAll(socket, "HTTP/1.1 200 OK\r\n");
      while (SendAll(socket, piece)) {
      }
    });
    CHECK_FALSE(HttpClient({}).Do({"GET", endless.url()}, kForever).ok());
  }
}

// Answers a part, and opens `begun`; ends with `ending`.
struct StalledServer {
  Gate begun, ending;
  RawServer server{[this](int socket) {
    ReadHeaders(socket);
    SendAll(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345");
    begun.Open();
    ending.Wait();
  }};
  ~StalledServer() { ending.Open(); }
};

TEST_CASE("A transfer that stands still is given up by the clock") {
  StalledServer stalled;
  FakeClock clock;
  HttpClient client({});
  Background<absl::Status> answer([&] {
    return client.Do({"GET", stalled.server.url()}, CallContext(&clock, absl::InfiniteFuture()))
        .status();
  });
  stalled.begun.Wait();
  clock.Advance(absl::Seconds(30));
  const absl::Status status = answer.Get();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("fewer than"));
}

TEST_CASE("A patient request lets the server think for longer") {
  StalledServer stalled;
  FakeClock clock;
  HttpClient client({});
  const absl::Time start = clock.Now();
  Background<absl::Status> answer([&] {
    HttpRequest request{"GET", stalled.server.url()};
    request.patience = absl::Seconds(100);
    return client.Do(request, CallContext(&clock, start + absl::Seconds(60))).status();
  });
  stalled.begun.Wait();
  clock.Advance(absl::Seconds(60));
  CHECK(absl::IsDeadlineExceeded(answer.Get()));
}

TEST_CASE("A call that is cancelled ends its request") {
  StalledServer stalled;
  HttpClient client({});
  const CallContext call = CallContext::Unbounded();
  Background<absl::Status> answer([&] {
    return client.Do({"GET", stalled.server.url()}, call).status();
  });
  stalled.begun.Wait();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(answer.Get()));
}

TEST_CASE("A call that has ended sends nothing") {
  FakeClock clock;
  HttpClient client({});
  CHECK(absl::IsDeadlineExceeded(
      client.Do({"GET", "http://127.0.0.1:1/"}, CallContext(&clock, clock.Now())).status()));
}

}  // namespace
}  // namespace sightline
