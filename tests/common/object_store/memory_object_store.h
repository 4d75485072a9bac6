// An object store in memory, whose trouble a test decides.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_MEMORY_OBJECT_STORE_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_MEMORY_OBJECT_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/object_store/object_store.h"

namespace sightline {

// Thread-safe.
class MemoryObjectStore : public ObjectStore {
 public:
  // Called before each operation ("read", "stat", "write", "create", "list", "remove") on a key
  // or prefix, on the thread that does it; what it fails with, the operation fails with.
  std::function<absl::Status(const std::string& operation, const std::string& key)> before;
  std::string endpoint = "https://here";
  // The time that is written beside what is written.
  absl::Time now = absl::FromUnixSeconds(1'000'000'000);

  std::string name() const override { return "s3://memory"; }
  std::string identity() const override { return "s3://memory at " + endpoint; }

  absl::StatusOr<std::string> Read(absl::string_view key, int64_t offset, int64_t length,
                                   const CallContext& call) override {
    RETURN_IF_ERROR(Begin("read", key, call));
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const Object* object, Find(key));
    if (offset + length > static_cast<int64_t>(object->bytes.size())) {
      return absl::OutOfRangeError(absl::StrCat(key, " ends before"));
    }
    bytes_read_ += length;
    return object->bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  }

  absl::StatusOr<std::string> ReadAll(absl::string_view key, int64_t max_bytes,
                                      const CallContext& call) override {
    RETURN_IF_ERROR(Begin("read", key, call));
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const Object* object, Find(key));
    if (static_cast<int64_t>(object->bytes.size()) > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(key, " is too long"));
    }
    return object->bytes;
  }

  absl::StatusOr<ObjectInfo> Stat(absl::string_view key, const CallContext& call) override {
    RETURN_IF_ERROR(Begin("stat", key, call));
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const Object* object, Find(key));
    ObjectInfo info = InfoOf(std::string(key), *object);
    info.sha256 = object->sha256;
    return info;
  }

  absl::Status Write(absl::string_view key, absl::string_view bytes,
                     const CallContext& call) override {
    RETURN_IF_ERROR(Begin("write", key, call));
    Put(key, std::string(bytes));
    return absl::OkStatus();
  }

  absl::Status Create(absl::string_view key, absl::string_view bytes,
                      const CallContext& call) override {
    RETURN_IF_ERROR(Begin("create", key, call));
    MutexLock lock(mutex_);
    const bool is_new =
        objects_.emplace(std::string(key), Object{std::string(bytes), Sha256Hex(bytes), now})
            .second;
    return is_new ? absl::OkStatus() : absl::AlreadyExistsError(key);
  }

  absl::Status WriteFile(absl::string_view key, const std::string& path, absl::string_view sha256,
                         const CallContext& call) override {
    RETURN_IF_ERROR(Begin("write", key, call));
    ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
    if (Sha256Hex(bytes) != sha256) return absl::DataLossError(absl::StrCat(path, " is another"));
    Put(key, std::move(bytes), std::string(sha256));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<ObjectInfo>> List(absl::string_view prefix, absl::string_view after,
                                               int64_t limit, const CallContext& call) override {
    RETURN_IF_ERROR(Begin("list", prefix, call));
    MutexLock lock(mutex_);
    std::vector<ObjectInfo> found;
    for (const auto& [key, object] : objects_) {
      if (!absl::StartsWith(key, prefix) || key <= after) continue;
      if (static_cast<int64_t>(found.size()) == limit) break;
      found.push_back(InfoOf(key, object));
    }
    return found;
  }

  absl::Status Remove(absl::string_view key, const CallContext& call) override {
    RETURN_IF_ERROR(Begin("remove", key, call));
    MutexLock lock(mutex_);
    objects_.erase(std::string(key));
    return absl::OkStatus();
  }

  absl::StatusOr<int> RemoveHalfWritten(absl::string_view prefix, absl::Time /*before*/,
                                        const CallContext& call) override {
    RETURN_IF_ERROR(Begin("remove", prefix, call));
    return 0;
  }

  // For tests, past all trouble.
  void Put(absl::string_view key, std::string bytes, std::string sha256 = "") {
    MutexLock lock(mutex_);
    objects_[std::string(key)] = Object{std::move(bytes), std::move(sha256), now};
  }
  std::map<std::string, std::string> Content() const {
    MutexLock lock(mutex_);
    std::map<std::string, std::string> content;
    for (const auto& [key, object] : objects_) content[key] = object.bytes;
    return content;
  }
  // Those below `prefix`.
  std::vector<std::string> Keys(absl::string_view prefix = "") const {
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : Content()) {
      if (absl::StartsWith(key, prefix)) keys.push_back(key);
    }
    return keys;
  }
  int64_t bytes_read() const {
    MutexLock lock(mutex_);
    return bytes_read_;
  }

 private:
  struct Object {
    std::string bytes;
    std::string sha256;
    absl::Time write_time;
  };

  absl::Status Begin(const char* operation, absl::string_view key, const CallContext& call) const {
    RETURN_IF_ERROR(call.Check(operation));
    return before == nullptr ? absl::OkStatus() : before(operation, std::string(key));
  }
  absl::StatusOr<const Object*> Find(absl::string_view key) const REQUIRES(mutex_) {
    const auto found = objects_.find(std::string(key));
    if (found != objects_.end()) return &found->second;
    return absl::NotFoundError(absl::StrCat(name(), "/", key, " is not there"));
  }
  static ObjectInfo InfoOf(const std::string& key, const Object& object) {
    return {key, static_cast<int64_t>(object.bytes.size()), object.write_time, ""};
  }

  mutable Mutex mutex_;
  std::map<std::string, Object> objects_ GUARDED_BY(mutex_);
  int64_t bytes_read_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_MEMORY_OBJECT_STORE_H_
