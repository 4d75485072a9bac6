#include "common/object_store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string Hmac(absl::string_view key, absl::string_view text) {
  std::string digest(32, '\0');
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), &length);
  return digest;
}

std::string DateAndTime(absl::Time now) {
  return absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
}

std::string CredentialScope(const SigningScope& scope, absl::Time now) {
  return absl::StrCat(absl::FormatTime("%Y%m%d", now, absl::UTCTimeZone()), "/", scope.region, "/",
                      scope.service, "/aws4_request");
}

// Without spaces around it, and with one where there are several.
std::string Trimmed(std::string value) {
  absl::RemoveExtraAsciiWhitespace(&value);
  return value;
}

// By lower-case name; the values of one that comes several times, in their order.
std::map<std::string, std::string> CanonicalHeaders(const NamesAndValues& headers) {
  std::map<std::string, std::string> canonical;
  for (const auto& [name, value] : headers) {
    const auto [entry, is_new] = canonical.try_emplace(absl::AsciiStrToLower(name), Trimmed(value));
    if (!is_new) absl::StrAppend(&entry->second, ",", Trimmed(value));
  }
  return canonical;
}

std::string NamesOf(const std::map<std::string, std::string>& headers) {
  return absl::StrJoin(headers, ";", [](std::string* out, const auto& header) {
    absl::StrAppend(out, header.first);
  });
}

std::string CanonicalRequest(const UnsignedRequest& request,
                             const std::map<std::string, std::string>& headers,
                             absl::string_view payload_sha256) {
  std::string canonical = absl::StrCat(request.method, "\n", UriEncode(request.path, true), "\n",
                                       CanonicalQuery(request.query), "\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&canonical, name, ":", value, "\n");
  absl::StrAppend(&canonical, "\n", NamesOf(headers), "\n", payload_sha256);
  return canonical;
}

std::string SigningKey(const AwsKeys& keys, const SigningScope& scope, absl::Time now) {
  const std::string date = absl::FormatTime("%Y%m%d", now, absl::UTCTimeZone());
  const std::string of_date = Hmac(absl::StrCat("AWS4", keys.secret_access_key), date);
  return Hmac(Hmac(Hmac(of_date, scope.region), scope.service), "aws4_request");
}

}  // namespace

std::string UriEncode(absl::string_view text, bool keep_slashes) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~' ||
        (c == '/' && keep_slashes)) {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

std::string CanonicalQuery(const NamesAndValues& query) {
  NamesAndValues encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(UriEncode(name, false), UriEncode(value, false));
  }
  std::sort(encoded.begin(), encoded.end());
  return absl::StrJoin(encoded, "&", absl::PairFormatter("="));
}

std::string Authorization(const UnsignedRequest& request, absl::string_view payload_sha256,
                          const AwsKeys& keys, const SigningScope& scope, absl::Time now) {
  const std::map<std::string, std::string> headers = CanonicalHeaders(request.headers);
  const std::string to_sign =
      absl::StrCat(kAlgorithm, "\n", DateAndTime(now), "\n", CredentialScope(scope, now), "\n",
                   Sha256Hex(CanonicalRequest(request, headers, payload_sha256)));
  return absl::StrCat(
      kAlgorithm, " Credential=", keys.access_key_id, "/", CredentialScope(scope, now),
      ",SignedHeaders=", NamesOf(headers),
      ",Signature=", absl::BytesToHexString(Hmac(SigningKey(keys, scope, now), to_sign)));
}

NamesAndValues SignedHeaders(UnsignedRequest request, absl::string_view payload_sha256,
                             const AwsKeys& keys, const SigningScope& scope, absl::Time now) {
  request.headers.emplace_back("x-amz-date", DateAndTime(now));
  request.headers.emplace_back("x-amz-content-sha256", std::string(payload_sha256));
  if (!keys.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  std::string authorization = Authorization(request, payload_sha256, keys, scope, now);
  request.headers.emplace_back("Authorization", std::move(authorization));
  return std::move(request.headers);
}

}  // namespace sightline
