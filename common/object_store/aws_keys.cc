#include "common/object_store/aws_keys.h"

#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/object_store/aws_answers.h"
#include "common/object_store/http_client.h"
#include "common/object_store/s3_errors.h"
#include "common/object_store/s3_place.h"

namespace sightline {
namespace {

constexpr int64_t kMaxTokenBytes = 64 << 10;
// How long before they expire keys are asked for anew.
constexpr absl::Duration kAhead = absl::Minutes(5);
// For as long, and with such pauses, keys that still hold are renewed.
constexpr absl::Duration kRenewalTime = absl::Seconds(2);
constexpr absl::Duration kRenewalPause = absl::Seconds(20);

// An error of whoever hands out keys; it must not pass for one of the store, as NOT_FOUND would.
absl::Status AboutKeys(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return Within("keys for the object store", status);
    default:
      return absl::FailedPreconditionError(
          absl::StrCat("keys for the object store: ", status.message()));
  }
}

class FixedKeys : public AwsKeySource {
 public:
  explicit FixedKeys(AwsKeys keys) : keys_(std::move(keys)) {}
  absl::StatusOr<AwsKeys> Get(const CallContext& /*call*/) override { return keys_; }

 private:
  const AwsKeys keys_;
};

// Keys that expire, from who hands them out.
class RenewedKeys : public AwsKeySource {
 public:
  using Fetch = std::function<absl::StatusOr<ExpiringKeys>(const CallContext&)>;

  RenewedKeys(Fetch fetch, WallTime wall_time)
      : fetch_(std::move(fetch)), wall_time_(std::move(wall_time)) {}

  // Without a lock while it asks: callers that come meanwhile take the keys that still hold, or
  // ask as well if there are none.
  absl::StatusOr<AwsKeys> Get(const CallContext& call) override EXCLUDES(mutex_) {
    const absl::Time now = wall_time_();
    const ExpiringKeys held = Held();
    if (now < held.expiry - kAhead) return held.keys;
    const bool still_hold = now < held.expiry;
    if (still_hold && !MayRenew(now)) return held.keys;
    // Who has keys leaves most of the call's time to what they are for.
    absl::StatusOr<ExpiringKeys> fresh =
        fetch_(still_hold ? call.WithDeadline(call.clock()->Now() + kRenewalTime) : call);
    if (fresh.ok() && fresh->expiry <= now) {
      fresh = absl::UnavailableError(absl::StrCat("keys were handed out that have expired at ",
                                                  absl::FormatTime(fresh->expiry),
                                                  "; is the clock of this machine right?"));
    }
    if (!fresh.ok()) {
      if (still_hold) return held.keys;
      return AboutKeys(fresh.status());
    }
    MutexLock lock(mutex_);
    held_ = *std::move(fresh);
    return held_.keys;
  }

 private:
  // One caller at a time, and not at once again.
  bool MayRenew(absl::Time now) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (now < next_renewal_) return false;
    next_renewal_ = now + kRenewalPause;
    return true;
  }

  ExpiringKeys Held() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return held_;
  }

  const Fetch fetch_;
  const WallTime wall_time_;
  Mutex mutex_;
  ExpiringKeys held_ GUARDED_BY(mutex_){{}, absl::InfinitePast()};
  absl::Time next_renewal_ GUARDED_BY(mutex_) = absl::InfinitePast();
};

// The file that a token is in, which is read anew each time: it is replaced before it expires.
absl::StatusOr<std::string> ReadToken(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string token, ReadFile(path, kMaxTokenBytes));
  return std::string(absl::StripAsciiWhitespace(token));
}

absl::StatusOr<std::unique_ptr<AwsKeySource>> FromVariables(const Environment& environment,
                                                            std::string id) {
  const absl::optional<std::string> secret = environment("AWS_SECRET_ACCESS_KEY");
  if (!secret.has_value()) {
    return absl::FailedPreconditionError(
        "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; set both");
  }
  // A secret that was written with echo ends in a newline, which no header can have.
  AwsKeys keys{std::move(id), *secret, environment("AWS_SESSION_TOKEN").value_or("")};
  for (std::string* const part :
       {&keys.access_key_id, &keys.secret_access_key, &keys.session_token}) {
    absl::StripAsciiWhitespace(part);
  }
  return std::make_unique<FixedKeys>(std::move(keys));
}

std::string StsAddress(const Environment& environment, const std::string& region) {
  const auto address = environment("AWS_ENDPOINT_URL_STS");
  return address.value_or(absl::StrCat("https://sts.", region, AwsDomain(region)));
}

absl::StatusOr<std::unique_ptr<AwsKeySource>> FromWebIdentity(const Environment& environment,
                                                              const std::string& region,
                                                              std::string token_file,
                                                              HttpClient* http,
                                                              WallTime wall_time) {
  const absl::optional<std::string> role = environment("AWS_ROLE_ARN");
  if (!role.has_value()) {
    return absl::FailedPreconditionError(
        "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; set both");
  }
  const NamesAndValues form = {
      {"Action", "AssumeRoleWithWebIdentity"},
      {"Version", "2011-06-15"},
      {"RoleArn", *role},
      {"RoleSessionName", environment("AWS_ROLE_SESSION_NAME").value_or("sightline")}};
  const std::string url = StsAddress(environment, region);
  const auto fetch = [=](const CallContext& call) -> absl::StatusOr<ExpiringKeys> {
    NamesAndValues with_token = form;
    ASSIGN_OR_RETURN(std::string token, ReadToken(token_file));
    with_token.emplace_back("WebIdentityToken", std::move(token));
    const std::string body = CanonicalQuery(with_token);
    HttpRequest request{"POST", url + "/"};
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body = body;
    ASSIGN_OR_RETURN(const HttpAnswer answer, http->Do(request, call));
    if (!answer.ok()) return AwsFailure(answer);
    return ReadStsKeys(answer.body);
  };
  return std::make_unique<RenewedKeys>(fetch, std::move(wall_time));
}

// Whether a token may be sent there: over TLS, to this machine, or to an agent of EKS or ECS.
bool MayBeTold(absl::string_view url) {
  if (absl::StartsWith(url, "https://")) return true;
  if (!absl::ConsumePrefix(&url, "http://")) return false;
  const absl::string_view host = url.substr(0, url.find_first_of("/?#"));
  if (absl::StrContains(host, "@")) return false;  // what stands before it is no host
  const absl::string_view name = absl::StartsWith(host, "[") ? host.substr(0, host.find(']') + 1)
                                                             : host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]" || name == "169.254.170.2" ||
         name == "169.254.170.23" || name == "[fd00:ec2::23]";
}

absl::StatusOr<std::unique_ptr<AwsKeySource>> FromAgent(const Environment& environment,
                                                        std::string url, HttpClient* http,
                                                        WallTime wall_time) {
  if (!MayBeTold(url)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI names ", url.substr(url.find_last_of('@') + 1),
        ", which is neither https nor the address of an agent on this node; correct it"));
  }
  const std::string token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").value_or("");
  const auto fetch = [=](const CallContext& call) -> absl::StatusOr<ExpiringKeys> {
    HttpRequest request{"GET", url};
    request.direct = true;  // a token is no proxy's business
    if (!token_file.empty()) {
      ASSIGN_OR_RETURN(std::string token, ReadToken(token_file));
      request.headers = {{"Authorization", std::move(token)}};
    }
    ASSIGN_OR_RETURN(const HttpAnswer answer, http->Do(request, call));
    if (!answer.ok()) return AwsFailure(answer);
    return ReadAgentKeys(answer.body);
  };
  return std::make_unique<RenewedKeys>(fetch, std::move(wall_time));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AwsKeySource>> FindAwsKeys(const Environment& environment,
                                                          const std::string& region,
                                                          HttpClient* http, WallTime wall_time) {
  if (auto id = environment("AWS_ACCESS_KEY_ID")) return FromVariables(environment, *std::move(id));
  if (auto file = environment("AWS_WEB_IDENTITY_TOKEN_FILE")) {
    return FromWebIdentity(environment, region, *std::move(file), http, std::move(wall_time));
  }
  if (auto url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    return FromAgent(environment, *std::move(url), http, std::move(wall_time));
  }
  return absl::FailedPreconditionError(
      "no keys for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have the "
      "pod's service account give AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or "
      "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

}  // namespace sightline
