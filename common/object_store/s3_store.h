// The object store over the network: S3, or what speaks its language (MinIO, Ceph, ...).
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_S3_STORE_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_S3_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/object_store/environment.h"
#include "common/object_store/http_client.h"
#include "common/object_store/object_store.h"
#include "common/object_store/retry.h"
#include "common/object_store/s3_upload.h"

namespace sightline {

struct S3Options {
  std::string url;       // "s3://bucket" or "s3://bucket/some/folder"; empty: of the environment
  std::string endpoint;  // of a store that is not AWS's; empty: of the environment (s3_place.h)
  std::string region;    // empty: of the environment, else us-east-1
  S3UploadOptions upload;
  RetryPolicy retry;  // `random` may be empty
  HttpOptions http;   // `ca_bundle` may be empty: AWS_CA_BUNDLE, else the system's
};

// Sends nothing yet.  INVALID_ARGUMENT if an option is wrong, FAILED_PRECONDITION if there are no
// keys (aws_keys.h).
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3Store(
    S3Options options, const Environment& environment = ProcessEnvironment(),
    WallTime wall_time = absl::Now);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_S3_STORE_H_
