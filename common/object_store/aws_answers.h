// What S3 and STS answer, read as from a stranger: bounded, and each field checked.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_AWS_ANSWERS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_AWS_ANSWERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/object_store/object_store.h"
#include "common/object_store/sigv4.h"

namespace sightline {

// The most that a page of a list may have: a thousand keys of 1 024 bytes, each of which may be
// written as three, and what stands around them.
inline constexpr int64_t kMaxListBytes = int64_t{5} << 20;

// Fields are empty where the answer has none, and cut to a length that a message can quote.
struct AwsError {
  std::string code;     // "NoSuchKey"
  std::string message;  // for people
  std::string region;   // where the bucket is, if it is not where it was asked for
};

struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::string next;  // token of the page behind this one; empty if it is the last
};

struct PendingUpload {
  std::string key;
  std::string id;
  absl::Time begun;
};

struct UploadPage {
  std::vector<PendingUpload> uploads;
  bool more = false;
  std::string next_key, next_id;  // markers of the page behind this one
};

struct ExpiringKeys {
  AwsKeys keys;
  absl::Time expiry = absl::InfiniteFuture();
};

// The error in an answer; one with an empty code if there is none, as where a proxy answered.
AwsError ReadAwsError(absl::string_view body);

// These fail with UNAVAILABLE, since an answer that is not one may have been cut short on its
// way, and say what is wrong with it.

// Of ListObjectsV2.  Keys are as they stand in the store.
absl::StatusOr<ObjectPage> ReadObjectPage(absl::string_view body);

// Of ListMultipartUploads.
absl::StatusOr<UploadPage> ReadUploadPage(absl::string_view body);

// Of CreateMultipartUpload: the upload's id.
absl::StatusOr<std::string> ReadUploadId(absl::string_view body);

// Of CompleteMultipartUpload, of which also an answer of 200 may hold an error: whether it is
// the one of success.
bool IsUploadComplete(absl::string_view body);

// Of STS's AssumeRoleWithWebIdentity.
absl::StatusOr<ExpiringKeys> ReadStsKeys(absl::string_view body);

// Of an agent that hands out keys: JSON.
absl::StatusOr<ExpiringKeys> ReadAgentKeys(absl::string_view body);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_AWS_ANSWERS_H_
