// AWS Signature Version 4 in a header, as S3 takes it: what is signed is the request as it goes
// over the wire, each path segment and each parameter percent-encoded once.  Pure functions.
//
// Source: "Signature Calculations for the Authorization Header" of the S3 API reference.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_SIGV4_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_SIGV4_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sightline {

// A secret: for no log and no message.
struct AwsKeys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // of temporary keys; else empty
};

using NamesAndValues = std::vector<std::pair<std::string, std::string>>;

// What has to be known of a request to sign it.
struct UnsignedRequest {
  std::string method;      // "GET"
  std::string path;        // "/bucket/some key", not encoded
  NamesAndValues query;    // not encoded, in any order
  NamesAndValues headers;  // all are signed; "host" is among them
};

// Whom a signature is good for.
struct SigningScope {
  std::string region;   // "us-east-1"
  std::string service;  // "s3"
};

// Each byte but letters, digits and "-._~" as %XY; slashes stay if `keep_slashes`.
std::string UriEncode(absl::string_view text, bool keep_slashes);

// "a=1&b=%20" by ascending encoded name, then value; a parameter without a value is "a=".
std::string CanonicalQuery(const NamesAndValues& query);

// The value of the header Authorization.  `payload_sha256` is the hex digest of the body.
std::string Authorization(const UnsignedRequest& request, absl::string_view payload_sha256,
                          const AwsKeys& keys, const SigningScope& scope, absl::Time now);

// The headers of `request` and those that a signature brings: x-amz-date, x-amz-content-sha256,
// x-amz-security-token if the keys have one, and Authorization.
NamesAndValues SignedHeaders(UnsignedRequest request, absl::string_view payload_sha256,
                             const AwsKeys& keys, const SigningScope& scope, absl::Time now);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_SIGV4_H_
