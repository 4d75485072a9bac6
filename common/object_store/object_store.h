// Objects by key: what Sightline needs of a store that is no file system.
//
// Keys are paths as in a store's folder (common/bundle/layout.h): "models/<id>/manifest.json".
// An object appears whole or not at all, and who reads or lists after a write has ended sees it.
// s3_store.h is the one over the network.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_STORE_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"

namespace sightline {

struct ObjectInfo {
  std::string key;
  int64_t byte_count = 0;
  absl::Time write_time;  // by the store's clock, to the second
  std::string sha256;     // hex, as its writer said it; of Stat alone, and empty if nobody did
};

// Thread-safe.  Trouble that may pass is tried again within, for a while, and then UNAVAILABLE
// or DEADLINE_EXCEEDED; PERMISSION_DENIED and UNAUTHENTICATED as the store says; CANCELLED or
// DEADLINE_EXCEEDED when `call` ends first.  Messages name the store and the key.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // For messages: "s3://bucket/prefix".
  virtual std::string name() const = 0;

  // What tells it from all others: its name, and where it is.
  virtual std::string identity() const = 0;

  // `length` > 0 bytes from `offset`.  NOT_FOUND if there is no such object, OUT_OF_RANGE if it
  // ends before.
  virtual absl::StatusOr<std::string> Read(absl::string_view key, int64_t offset, int64_t length,
                                           const CallContext& call) = 0;

  // A whole object.  NOT_FOUND; RESOURCE_EXHAUSTED if it has more than `max_bytes`, of which no
  // more are read.
  virtual absl::StatusOr<std::string> ReadAll(absl::string_view key, int64_t max_bytes,
                                              const CallContext& call) = 0;

  // NOT_FOUND if there is no such object.
  virtual absl::StatusOr<ObjectInfo> Stat(absl::string_view key, const CallContext& call) = 0;

  // Writes `bytes` in the place of what is there.
  virtual absl::Status Write(absl::string_view key, absl::string_view bytes,
                             const CallContext& call) = 0;

  // Writes `bytes` unless there is an object of that key, and keeps their SHA-256 for Stat:
  // ALREADY_EXISTS then, also when
  // another wrote it at the same moment.  After an error it may have been written or not, except
  // for ALREADY_EXISTS: then what is there was not written by this call, or has these bytes.
  virtual absl::Status Create(absl::string_view key, absl::string_view bytes,
                              const CallContext& call) = 0;

  // Writes a file of any size, whose bytes travel with their checksums; `sha256`, of all of
  // them in hex, is kept for Stat.  The file is read once: DATA_LOSS, and no object, if it has
  // another SHA-256; NOT_FOUND if there is none.  Counts for the calling thread's ReadProgress.
  virtual absl::Status WriteFile(absl::string_view key, const std::string& path,
                                 absl::string_view sha256, const CallContext& call) = 0;

  // Objects whose key begins with `prefix` and is bytewise behind `after`, in that order, at
  // most `limit` > 0 of them.
  virtual absl::StatusOr<std::vector<ObjectInfo>> List(absl::string_view prefix,
                                                       absl::string_view after, int64_t limit,
                                                       const CallContext& call) = 0;

  // Removes an object; one that is not there is no error.
  virtual absl::Status Remove(absl::string_view key, const CallContext& call) = 0;

  // Removes what writers left behind that were cut off before `before` while they wrote objects
  // below `prefix`.  Returns how many there were.
  virtual absl::StatusOr<int> RemoveHalfWritten(absl::string_view prefix, absl::Time before,
                                                const CallContext& call) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_STORE_H_
