// Where in the world a bucket is, from an operator's settings and the environment.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_S3_PLACE_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_S3_PLACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/object_store/environment.h"

namespace sightline {

struct S3Place {
  std::string bucket;
  std::string prefix;  // "" or "some/folder/"
  std::string region;
  std::string origin;  // "https://host:port"
  std::string host;    // "host:port", as the header Host has it
  std::string path;    // of the bucket: "/" or "/bucket/"

  // "s3://bucket/some/folder/<key>".
  std::string Name(absl::string_view key) const;
};

// ".amazonaws.com", or what it is in China.
absl::string_view AwsDomain(absl::string_view region);

// Of the environment: the URL of the object store, for programs that are told of none.
inline constexpr char kObjectStoreVariable[] = "SIGHTLINE_OBJECT_STORE";

// `url` is "s3://bucket" or "s3://bucket/some/folder"; empty: SIGHTLINE_OBJECT_STORE.  `endpoint`,
// "https://host:port", is where stores that are not AWS's are; empty: AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL, or AWS's own. `region` may be empty: AWS_REGION, AWS_DEFAULT_REGION, or
// us-east-1.  INVALID_ARGUMENT with the value that is wrong, and the variable that it is of.
absl::StatusOr<S3Place> FindS3Place(absl::string_view url, const std::string& endpoint,
                                    const std::string& region, const Environment& environment);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_S3_PLACE_H_
