// A folder for one test, gone when the test ends.
//
//   TempDir dir;
//   WriteFileAtomically(dir.path() + "/a", "content");
#ifndef SIGHTLINE_TESTS_SUPPORT_TEMP_DIR_H_
#define SIGHTLINE_TESTS_SUPPORT_TEMP_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"

namespace sightline {

// Makes a new folder of its own below $TEST_TMPDIR (or /tmp) and removes it with all
// that it holds.  Throws, which fails the test, when the folder cannot be made.
class TempDir {
 public:
  TempDir() {
    const char* base = std::getenv("TEST_TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/sightline-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + path_);
    }
  }

  // Folders that a test has made read-only are made writable first.
  ~TempDir() {
    std::error_code ignored;
    using Options = std::filesystem::directory_options;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all,
                                 std::filesystem::perm_options::add, ignored);
    for (auto it = std::filesystem::recursive_directory_iterator(
             path_, Options::skip_permission_denied, ignored);
         it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
      if (it->is_directory(ignored) && !it->is_symlink(ignored)) {
        std::filesystem::permissions(it->path(), std::filesystem::perms::owner_all,
                                     std::filesystem::perm_options::add, ignored);
      }
    }
    std::filesystem::remove_all(path_, ignored);
  }

  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

  // The path of `name` inside the folder.
  std::string File(absl::string_view name) const {
    return path_ + "/" + std::string(name.data(), name.size());
  }

 private:
  std::string path_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_TEMP_DIR_H_
