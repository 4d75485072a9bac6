// A caller's channel and a server that moves to another address of the same name.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clients/admin_client.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// A name server that knows one IPv4 address, whatever it is asked for.
class OneAddressDns {
 public:
  OneAddressDns() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in here = {};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&here), sizeof(here)) == 0);
    socklen_t size = sizeof(here);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&here), &size) == 0);
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneAddressDns() {
    shutdown(socket_, SHUT_RDWR);  // ends recvfrom
    thread_.join();
    close(socket_);
  }

  void Set(const std::string& address) {
    in_addr parsed = {};
    REQUIRE(inet_pton(AF_INET, address.c_str(), &parsed) == 1);
    address_ = parsed.s_addr;
  }
  int port() const { return port_; }

 private:
  static constexpr size_t kHeader = 12;

  void Serve() {
    std::array<char, 512> query;
    sockaddr_in from = {};
    while (true) {
      socklen_t size = sizeof(from);
      const ssize_t got = recvfrom(socket_, query.data(), query.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
      if (got <= 0) return;
      const std::string answer = Answer(std::string(query.data(), got));
      sendto(socket_, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }

  // RFC 1035: header, the question again, and for a question of type A the address.
  std::string Answer(const std::string& query) const {
    const size_t name_end = query.find('\0', kHeader);
    const std::string question = query.substr(kHeader, name_end + 5 - kHeader);
    const bool is_a = question[question.size() - 3] == 1;
    std::string answer = query.substr(0, 2);                                  // id
    answer += std::string("\x81\x80\x00\x01\x00", 5) + (is_a ? '\1' : '\0');  // one question
    answer += std::string(4, '\0') + question;
    if (!is_a) return answer;
    const uint32_t address = address_;
    answer += std::string("\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04", 12);
    answer.append(reinterpret_cast<const char*>(&address), sizeof(address));
    return answer;
  }

  const int socket_;
  int port_ = 0;
  std::atomic<uint32_t> address_{0};  // in network order
  std::thread thread_;
};

// An Admin that says what it was told to be.
class NamedServer : public v1::Admin::Service {
 public:
  NamedServer(std::string name, const std::string& address) : name_(std::move(name)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
  }
  ~NamedServer() override { server_->Shutdown(std::chrono::system_clock::now()); }
  int port() const { return port_; }

 private:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* answer) override {
    answer->set_service(name_);
    return grpc::Status::OK;
  }

  const std::string name_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE("a server that moves is found where its name says it is now") {
  const auto call = [](absl::Duration patience) {
    return CallContext(Clock::Real(), Clock::Real()->Now() + patience);
  };
  OneAddressDns dns;
  dns.Set("127.0.0.1");
  auto before = std::make_unique<NamedServer>("before", "127.0.0.1:0");
  const auto client = MakeGrpcAdminClient(
      absl::StrCat("dns://127.0.0.1:", dns.port(), "/server.test:", before->port()));
  REQUIRE(client->GetStatus(call(absl::Minutes(1)))->service == "before");

  const NamedServer after("after", absl::StrCat("127.0.0.2:", before->port()));
  dns.Set("127.0.0.2");
  before.reset();
  // gRPC by itself would not ask for the name again before 30 seconds are over.
  const absl::Time latest = Clock::Real()->Now() + absl::Seconds(15);
  absl::StatusOr<ServerStatus> status = absl::UnavailableError("not asked yet");
  while (!status.ok() && Clock::Real()->Now() < latest) {
    status = client->GetStatus(call(absl::Seconds(15)));
  }
  REQUIRE(status.ok());
  CHECK(status->service == "after");
}

}  // namespace
}  // namespace sightline
