// Bringing an object into a file.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_FETCH_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_FETCH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// What a file has to be.
struct ExpectedFile {
  std::string key;
  int64_t byte_count = 0;
  std::string sha256;  // hex
};

struct FetchOptions {
  int connections = 4;                     // pieces that are on their way at once; >= 1
  int64_t piece_bytes = int64_t{8} << 20;  // > 0
};

// What is fetched lies in `path` + kPartSuffix until it is whole and compared.  No manifest can
// name such a file (IsSafePath).
inline constexpr absl::string_view kPartSuffix = "+part";

// What mends an object that the store has damaged, for messages: who sends it again.
std::string HowToResend(const ObjectStore& store);

// An error of a file, with the reason CACHE_FULL if its disk is.
absl::Status AsCacheFull(const absl::Status& status);

// Makes `path`, with the folders above it, a file of the object's content.  What an earlier try
// has brought of it is not fetched again; that of another process, which is at it, is waited for.
// Memory: connections * piece_bytes.  Goes at the calling thread's ReadPace,
// and counts for its ReadProgress.
//
// NotFound if the object is not there.  Unavailable (FETCH_FAILED) if it is shorter or has another
// SHA-256, and ResourceExhausted (CACHE_FULL) if the disk is full; then nothing remains of what was
// fetched.  Otherwise errors as those of ObjectStore and of files, and what was fetched is kept.
absl::Status FetchFile(ObjectStore* store, const ExpectedFile& expected, const std::string& path,
                       const FetchOptions& options, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_FETCH_H_
