#include "tests/common/object_store/s3_test_objects.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

namespace fs = std::filesystem;

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream(path + ".new", std::ios::binary) << bytes;
  fs::rename(path + ".new", path);
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file begins with a line of key, mark and time.
std::string FirstLine(const std::string& key, const std::string& mark, absl::Time time) {
  return absl::StrCat(key, "\t", mark, "\t", absl::ToUnixSeconds(time), "\n");
}

struct StoredFile {
  std::string key, mark;
  absl::Time time;
  std::string bytes;
};

StoredFile ReadStored(const std::string& path) {
  const std::string all = ReadWhole(path);
  const size_t end = all.find('\n');
  const std::vector<std::string> fields = absl::StrSplit(all.substr(0, end), '\t');
  int64_t seconds = 0;
  if (end == all.npos || fields.size() != 3 || !absl::SimpleAtoi(fields[2], &seconds)) {
    throw std::runtime_error("not written by this server: " + path);
  }
  return {fields[0], fields[1], absl::FromUnixSeconds(seconds), all.substr(end + 1)};
}

bool IsWhole(const fs::path& path) {
  return path.extension() != ".new";
}

}  // namespace

std::string TestObject::etag() const {
  return absl::StrCat("\"", Sha256Hex(bytes).substr(0, 32), "\"");
}

TestObjects::TestObjects(std::string folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_ + "/objects");
  fs::create_directories(folder_ + "/uploads");
  MutexLock lock(mutex_);
  Load();
}

void TestObjects::Load() {
  for (const auto& entry : fs::directory_iterator(folder_ + "/objects")) {
    if (!IsWhole(entry.path())) continue;
    StoredFile file = ReadStored(entry.path());
    objects_[file.key] = {file.mark, file.time, std::move(file.bytes)};
  }
  for (const auto& entry : fs::directory_iterator(folder_ + "/uploads")) {
    const std::string id = entry.path().filename();
    int number = 0;
    if (absl::SimpleAtoi(id.substr(id.find('-') + 1), &number)) {
      next_id_ = std::max(next_id_, number + 1);
    }
    if (!fs::exists(entry.path() / "upload")) continue;
    const StoredFile file = ReadStored(entry.path() / "upload");
    TestUpload& upload = uploads_[id] = {file.key, file.mark, file.time, {}};
    for (const auto& part : fs::directory_iterator(entry.path())) {
      if (IsWhole(part.path()) && absl::SimpleAtoi(part.path().filename().string(), &number)) {
        upload.parts[number] = ReadWhole(part.path());
      }
    }
  }
}

void TestObjects::Save(const std::string& key, const TestObject& object) {
  WriteWhole(absl::StrCat(folder_, "/objects/", Sha256Hex(key)),
             FirstLine(key, object.mark, object.written) + object.bytes);
  objects_[key] = object;
}

bool TestObjects::Get(const std::string& key, TestObject* object) {
  MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return false;
  *object = found->second;
  return true;
}

bool TestObjects::Put(const std::string& key, const TestObject& object, bool only_new) {
  MutexLock lock(mutex_);
  if (only_new && objects_.count(key) > 0) return false;
  Save(key, object);
  return true;
}

void TestObjects::Remove(const std::string& key) {
  MutexLock lock(mutex_);
  objects_.erase(key);
  fs::remove(absl::StrCat(folder_, "/objects/", Sha256Hex(key)));
}

std::map<std::string, TestObject> TestObjects::All() {
  MutexLock lock(mutex_);
  return objects_;
}

std::string TestObjects::Begin(const TestUpload& upload) {
  MutexLock lock(mutex_);
  const std::string id = absl::StrCat("upload-", next_id_++);
  fs::create_directories(absl::StrCat(folder_, "/uploads/", id));
  WriteWhole(absl::StrCat(folder_, "/uploads/", id, "/upload"),
             FirstLine(upload.key, upload.mark, upload.begun));
  uploads_[id] = upload;
  return id;
}

bool TestObjects::PutPart(const std::string& id, int number, const std::string& bytes) {
  MutexLock lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return false;
  WriteWhole(absl::StrCat(folder_, "/uploads/", id, "/", number), bytes);
  found->second.parts[number] = bytes;
  return true;
}

bool TestObjects::Complete(const std::string& id, const std::vector<int>& numbers, absl::Time now) {
  MutexLock lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return false;
  TestObject object{found->second.mark, now, ""};
  for (const int number : numbers) {
    const auto part = found->second.parts.find(number);
    if (part == found->second.parts.end()) return false;
    object.bytes += part->second;
  }
  Save(found->second.key, object);
  uploads_.erase(found);
  fs::remove_all(absl::StrCat(folder_, "/uploads/", id));
  return true;
}

bool TestObjects::Abort(const std::string& id) {
  MutexLock lock(mutex_);
  if (uploads_.erase(id) == 0) return false;
  fs::remove_all(absl::StrCat(folder_, "/uploads/", id));
  return true;
}

std::map<std::string, TestUpload> TestObjects::Uploads() {
  MutexLock lock(mutex_);
  return uploads_;
}

}  // namespace sightline
