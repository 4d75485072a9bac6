// What a test server holds: objects, and uploads that are under way, in a folder.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_OBJECTS_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_OBJECTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

struct TestObject {
  std::string mark;  // of x-amz-meta-sightline-sha256
  absl::Time written;
  std::string bytes;

  std::string etag() const;
};

struct TestUpload {
  std::string key;
  std::string mark;
  absl::Time begun;
  std::map<int, std::string> parts;
};

// Thread-safe.  Every change is in the folder when the call returns, so that a server which is
// killed and started again has what it has answered for.  Throws if the folder cannot be used.
class TestObjects {
 public:
  explicit TestObjects(std::string folder);

  // False if there is no such object.
  bool Get(const std::string& key, TestObject* object) EXCLUDES(mutex_);
  // False, without writing, if `only_new` and it exists.
  bool Put(const std::string& key, const TestObject& object, bool only_new) EXCLUDES(mutex_);
  void Remove(const std::string& key) EXCLUDES(mutex_);
  // Keys and sizes, in order.
  std::map<std::string, TestObject> All() EXCLUDES(mutex_);

  std::string Begin(const TestUpload& upload) EXCLUDES(mutex_);
  // These are false if there is no such upload; Complete also if a part is missing.
  bool PutPart(const std::string& id, int number, const std::string& bytes) EXCLUDES(mutex_);
  bool Complete(const std::string& id, const std::vector<int>& numbers, absl::Time now)
      EXCLUDES(mutex_);
  bool Abort(const std::string& id) EXCLUDES(mutex_);
  std::map<std::string, TestUpload> Uploads() EXCLUDES(mutex_);

 private:
  void Load() REQUIRES(mutex_);
  void Save(const std::string& key, const TestObject& object) REQUIRES(mutex_);

  const std::string folder_;
  Mutex mutex_;
  int next_id_ GUARDED_BY(mutex_) = 1;
  std::map<std::string, TestObject> objects_ GUARDED_BY(mutex_);
  std::map<std::string, TestUpload> uploads_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_OBJECTS_H_
