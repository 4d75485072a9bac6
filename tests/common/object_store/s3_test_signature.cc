#include "tests/common/object_store/s3_test_signature.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

std::string Sha256Raw(const std::string& bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Raw();
}

// By RFC 2104, as written there.
std::string HmacByDefinition(std::string key, const std::string& text) {
  if (key.size() > 64) key = Sha256Raw(key);
  key.resize(64, '\0');
  std::string inner = key, outer = key;
  for (char& c : inner) c ^= 0x36;
  for (char& c : outer) c ^= 0x5c;
  return Sha256Raw(outer + Sha256Raw(inner + text));
}

// What stands behind `name` up to the next comma.
std::string Part(absl::string_view authorization, absl::string_view name) {
  const size_t at = authorization.find(name);
  if (at == authorization.npos) return "";
  authorization.remove_prefix(at + name.size());
  return std::string(authorization.substr(0, authorization.find(',')));
}

// Letters, digits and "-._~/", and "%" with two upper-case digits.
bool IsEncoded(absl::string_view path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (absl::ascii_isalnum(path[i]) || absl::StrContains("-._~/", path.substr(i, 1))) continue;
    if (path[i] != '%' || i + 2 >= path.size()) return false;
    for (const char digit : path.substr(i + 1, 2)) {
      if (!absl::ascii_isxdigit(digit) || absl::ascii_islower(digit)) return false;
    }
    i += 2;
  }
  return true;
}

bool SignsWhatItMust(const std::vector<std::string>& names, const httplib::Request& request) {
  const std::set<std::string> is_signed(names.begin(), names.end());
  return is_signed.count("host") == 1 && is_signed.count("x-amz-date") == 1 &&
         std::is_sorted(names.begin(), names.end()) &&
         std::all_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
           const std::string name = absl::AsciiStrToLower(header.first);
           const bool must =
               absl::StartsWith(name, "x-amz-") || name == "if-none-match" || name == "range";
           return !must || is_signed.count(name) == 1;
         });
}

std::string Canonical(const httplib::Request& request, const std::vector<std::string>& names) {
  const std::pair<std::string, std::string> target =
      absl::StrSplit(request.target, absl::MaxSplits('?', 1));
  std::vector<std::string> parameters = absl::StrSplit(target.second, '&', absl::SkipEmpty());
  std::sort(parameters.begin(), parameters.end());
  std::string text =
      absl::StrCat(request.method, "\n", target.first, "\n", absl::StrJoin(parameters, "&"), "\n");
  for (const std::string& name : names) {
    absl::StrAppend(&text, name, ":", absl::StripAsciiWhitespace(request.get_header_value(name)),
                    "\n");
  }
  return absl::StrCat(text, "\n", absl::StrJoin(names, ";"), "\n",
                      request.get_header_value("x-amz-content-sha256"));
}

}  // namespace

std::string CheckSignature(const httplib::Request& request, const S3TestKeys& keys,
                           const std::string& region, absl::Time now) {
  const std::string authorization = request.get_header_value("Authorization");
  const std::vector<std::string> credential =
      absl::StrSplit(Part(authorization, "Credential="), '/');
  if (!absl::StartsWith(authorization, "AWS4-HMAC-SHA256 ") || credential.size() != 5) {
    return "AccessDenied";
  }
  if (credential[0] != keys.id) return "InvalidAccessKeyId";
  if (credential[2] != region) return "AuthorizationHeaderMalformed";
  if (request.get_header_value("x-amz-security-token") != keys.session_token) {
    return "InvalidToken";
  }
  const std::string date = request.get_header_value("x-amz-date");
  absl::Time time;
  if (!absl::ParseTime("%E4Y%m%dT%H%M%SZ", date, &time, nullptr)) return "AccessDenied";
  if (absl::AbsDuration(now - time) > absl::Minutes(15)) return "RequestTimeTooSkewed";

  const std::vector<std::string> names = absl::StrSplit(Part(authorization, "SignedHeaders="), ';');
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (!IsEncoded(path) || !SignsWhatItMust(names, request)) return "SignatureDoesNotMatch";
  const std::string scope = absl::StrCat(credential[1], "/", region, "/s3/aws4_request");
  std::string key = "AWS4" + keys.secret;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(scope, '/'))) {
    key = HmacByDefinition(key, part);
  }
  const std::string to_sign = absl::StrCat("AWS4-HMAC-SHA256\n", date, "\n", scope, "\n",
                                           Sha256Hex(Canonical(request, names)));
  if (absl::BytesToHexString(HmacByDefinition(key, to_sign)) != Part(authorization, "Signature=") ||
      !absl::StartsWith(date, credential[1])) {
    return "SignatureDoesNotMatch";
  }
  const bool body_is_it =
      Sha256Hex(request.body) == request.get_header_value("x-amz-content-sha256");
  return body_is_it ? "" : "XAmzContentSHA256Mismatch";
}

}  // namespace sightline
