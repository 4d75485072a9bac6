// Files of any size into a bucket.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_S3_UPLOAD_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_S3_UPLOAD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/s3_caller.h"

namespace sightline {

struct S3UploadOptions {
  // What is not longer goes in one request; what is, in parts of PartBytes.
  int64_t part_bytes = int64_t{16} << 20;
  int connections = 4;  // parts that are sent, and held in memory, at the same time
};

// Of what length the parts of a file are: `least`, or more where that would make more than 9 000
// of them; S3 takes 10 000.
int64_t PartBytes(int64_t file_bytes, int64_t least);

// Of an object: what its writer has said that it is.  It also tells an object of this upload from
// another of the same key, when the answer to the end of an upload was lost.
inline constexpr char kSha256Header[] = "x-amz-meta-sightline-sha256";

// Writes the file `path` as `key`.  What FileError gives if it cannot be opened, UNAVAILABLE if it
// cannot be read, DATA_LOSS if what was read has another SHA-256 (of a file in parts that is known
// when they are sent, and before they become an object); otherwise as S3Caller::Repeat.  After an
// error nothing of it is left, unless the store does not answer any more.
absl::Status SendFile(S3Caller* caller, absl::string_view key, const std::string& path,
                      absl::string_view sha256, const S3UploadOptions& options,
                      const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_S3_UPLOAD_H_
