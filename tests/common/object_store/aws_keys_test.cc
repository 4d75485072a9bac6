#include "common/object_store/aws_keys.h"

#include <httplib.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/object_store/http_client.h"
#include "tests/common/object_store/variables.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

// STS, and an agent that hands out keys, which are numbered and hold for an hour.
class KeyServer {
 public:
  KeyServer() {
    server_.Post("/", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(
          request.get_param_value("WebIdentityToken"), request, response,
          [](int count, const std::string& expiry) {
            return absl::StrCat(
                "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                "<AccessKeyId>sts-",
                count,
                "</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                "<SessionToken>t</SessionToken><Expiration>",
                expiry,
                "</Expiration></Credentials>"
                "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
          });
    });
    server_.Get("/agent", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(request.get_header_value("Authorization"), request, response,
             [](int count, const std::string& expiry) {
               return absl::StrCat(R"({"AccessKeyId": "agent-)", count,
                                   R"(", "SecretAccessKey": "s", "Token": "t", "Expiration": ")",
                                   expiry, R"("})");
             });
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~KeyServer() {
    server_.stop();
    thread_.join();
  }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

  void SetNow(absl::Time now) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    now_ = now;
  }
  // 0: as it should.
  void AnswerWith(int status, std::string body = "") EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    status_ = status;
    body_ = std::move(body);
  }
  std::string token() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return token_;
  }
  httplib::Params parameters() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return parameters_;
  }

 private:
  template <typename Body>
  void Answer(const std::string& token, const httplib::Request& request,
              httplib::Response& response, const Body& body) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++count_;
    token_ = token;
    parameters_ = request.params;
    if (status_ != 0) response.status = status_;
    response.set_content(status_ == 0 ? body(count_, Expiry()) : body_, "text/plain");
  }

  std::string Expiry() REQUIRES(mutex_) {
    return absl::FormatTime(absl::RFC3339_sec, now_ + absl::Hours(1), absl::UTCTimeZone());
  }

  httplib::Server server_;
  int port_ = 0;
  Mutex mutex_;
  absl::Time now_ GUARDED_BY(mutex_);
  int count_ GUARDED_BY(mutex_) = 0;
  int status_ GUARDED_BY(mutex_) = 0;
  std::string body_ GUARDED_BY(mutex_);
  std::string token_ GUARDED_BY(mutex_);
  httplib::Params parameters_ GUARDED_BY(mutex_);
  std::thread thread_;
};

// A source of keys beside a server of them, at a time that the test sets.
struct Rig {
  TempDir dir;
  KeyServer server;
  HttpClient http{{}};
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  std::unique_ptr<AwsKeySource> keys;

  std::string token_file() const { return dir.File("token"); }
  void WriteToken(absl::string_view token) {
    REQUIRE(WriteFileAtomically(token_file(), token).ok());
  }
  void At(absl::Duration since) {
    now = absl::FromUnixSeconds(1'800'000'000) + since;
    server.SetNow(now);
  }
  void Open(std::map<std::string, std::string> variables) {
    At(absl::ZeroDuration());
    auto found =
        FindAwsKeys(Variables(std::move(variables)), "us-east-1", &http, [this] { return now; });
    INFO(found.status());
    REQUIRE(found.ok());
    keys = *std::move(found);
  }
  void OpenWebIdentity() {
    WriteToken("first token\n");
    Open({{"AWS_WEB_IDENTITY_TOKEN_FILE", token_file()},
          {"AWS_ROLE_ARN", "arn:aws:iam::1:role/reader"},
          {"AWS_ENDPOINT_URL_STS", server.url()}});
  }
  std::string Id() {
    const absl::StatusOr<AwsKeys> found = keys->Get(kForever);
    return found.ok() ? found->access_key_id : found.status().ToString();
  }
};

TEST_CASE("Keys that stand in the environment come before all others") {
  Rig rig;
  rig.Open({{"AWS_ACCESS_KEY_ID", "id"},
            {"AWS_SECRET_ACCESS_KEY", "secret\n"},
            {"AWS_SESSION_TOKEN", " session\n"},
            {"AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere"}});
  const absl::StatusOr<AwsKeys> found = rig.keys->Get(kForever);
  REQUIRE(found.ok());
  CHECK(found->access_key_id == "id");
  CHECK(found->secret_access_key == "secret");
  CHECK(found->session_token == "session");
}

TEST_CASE("No keys, or a part of them, is told with what to set") {
  HttpClient http({});
  const struct {
    std::map<std::string, std::string> variables;
    const char* told;
  } cases[] = {
      {{}, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
      {{{"AWS_ACCESS_KEY_ID", "id"}}, "AWS_SECRET_ACCESS_KEY is not"},
      {{{"AWS_WEB_IDENTITY_TOKEN_FILE", "f"}}, "AWS_ROLE_ARN is not"},
      {{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil.example/"}}, "http://evil.example/"},
      {{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1.evil.example/"}}, "evil"},
      {{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1@evil.example/"}}, "evil"},
      {{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:x@evil.example/"}}, "evil"},
  };
  for (const auto& one : cases) {
    const absl::Status status =
        FindAwsKeys(Variables(one.variables), "r", &http, absl::Now).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()), Contains(one.told));
  }
}

TEST_CASE("A web identity becomes keys, which are kept until shortly before they expire") {
  Rig rig;
  rig.OpenWebIdentity();
  CHECK(rig.Id() == "sts-1");
  CHECK(rig.server.token() == "first token");
  const httplib::Params parameters = rig.server.parameters();
  CHECK(parameters.find("Action")->second == "AssumeRoleWithWebIdentity");
  CHECK(parameters.find("Version")->second == "2011-06-15");
  CHECK(parameters.find("RoleArn")->second == "arn:aws:iam::1:role/reader");
  CHECK(parameters.find("RoleSessionName")->second == "sightline");
  rig.At(absl::Minutes(54));
  CHECK(rig.Id() == "sts-1");
  rig.WriteToken("second token");
  rig.At(absl::Minutes(56));
  CHECK(rig.Id() == "sts-2");
  CHECK(rig.server.token() == "second token");
}

TEST_CASE("Keys that still hold outlive a server that does not renew them") {
  Rig rig;
  rig.OpenWebIdentity();
  CHECK(rig.Id() == "sts-1");
  rig.server.AnswerWith(500);
  rig.At(absl::Minutes(59));
  CHECK(rig.Id() == "sts-1");
  rig.At(absl::Minutes(60));
  CHECK(absl::IsUnavailable(rig.keys->Get(kForever).status()));
  rig.server.AnswerWith(0);
  CHECK_THAT(rig.Id(), Contains("sts-"));
}

TEST_CASE("A refusal of STS is told as what it is, without the token") {
  Rig rig;
  rig.OpenWebIdentity();
  const auto refuse = [&](int status, absl::string_view code) {
    rig.server.AnswerWith(status, absl::StrCat("<ErrorResponse><Error><Code>", code,
                                               "</Code><Message>m</Message></Error>"
                                               "</ErrorResponse>"));
    const absl::Status told = rig.keys->Get(kForever).status();
    CHECK_THAT(std::string(told.message()),
               Contains(std::string(code)) && !Contains("first token"));
    return told.code();
  };
  CHECK(refuse(403, "AccessDenied") == absl::StatusCode::kPermissionDenied);
  CHECK(refuse(400, "ExpiredTokenException") == absl::StatusCode::kUnauthenticated);
  CHECK(refuse(400, "IDPCommunicationError") == absl::StatusCode::kUnavailable);
  CHECK(refuse(404, "NoSuchEntity") == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Keys that have expired already are not taken") {
  Rig rig;
  rig.OpenWebIdentity();
  rig.server.SetNow(rig.now - absl::Hours(2));
  const absl::Status status = rig.keys->Get(kForever).status();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("clock"));
}

TEST_CASE("A token's file that is not there is told by its name") {
  Rig rig;
  rig.OpenWebIdentity();
  REQUIRE(::unlink(rig.token_file().c_str()) == 0);
  const absl::Status status = rig.keys->Get(kForever).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Contains(rig.token_file()));
}

TEST_CASE("An agent on the node is asked with its token") {
  Rig rig;
  rig.WriteToken("of the pod\n");
  rig.Open({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", rig.server.url() + "/agent"},
            {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", rig.token_file()}});
  CHECK(rig.Id() == "agent-1");
  CHECK(rig.server.token() == "of the pod");
  CHECK(rig.Id() == "agent-1");
  rig.At(absl::Minutes(56));
  CHECK(rig.Id() == "agent-2");
}

TEST_CASE("The environment of the process is what getenv says, and empty is not set") {
  ::setenv("SIGHTLINE_TEST_VARIABLE", "value", 1);
  ::setenv("SIGHTLINE_TEST_EMPTY", "", 1);
  const Environment environment = ProcessEnvironment();
  CHECK(environment("SIGHTLINE_TEST_VARIABLE") == absl::optional<std::string>("value"));
  CHECK_FALSE(environment("SIGHTLINE_TEST_EMPTY").has_value());
  CHECK_FALSE(environment("SIGHTLINE_TEST_NONE").has_value());
}

}  // namespace
}  // namespace sightline
