// Checks the signature of a request from what came over the wire, with none of the code that made
// it.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SIGNATURE_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SIGNATURE_H_

#include <httplib.h>

#include <string>

#include "absl/time/time.h"

namespace sightline {

struct S3TestKeys {
  std::string id = "an-access-key";
  std::string secret = "a/secret+key";
  std::string session_token;  // empty: none is asked for
};

// The code of the error that S3 would answer: "SignatureDoesNotMatch", or, for another region,
// "AuthorizationHeaderMalformed".  Empty if all is well.
std::string CheckSignature(const httplib::Request& request, const S3TestKeys& keys,
                           const std::string& region, absl::Time now);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SIGNATURE_H_
