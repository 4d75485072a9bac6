// A folder of one fuzz target's own, for what reads files by their names.
#ifndef SIGHTLINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
#define SIGHTLINE_TESTS_FUZZ_SCRATCH_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/string_view.h"

namespace sightline {

// Below /dev/shm, which is memory, or else $TMPDIR or /tmp; for all inputs of a run, and gone
// when the run ends well.  Aborts where nothing can be written.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name) {
    std::error_code ignored;
    const bool has_memory = std::filesystem::is_directory("/dev/shm", ignored);
    const std::filesystem::path base =
        has_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    path_ = base / (name + ".XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // The path of file `name`, which is `content` now.
  std::string Write(const std::string& name, absl::string_view content) const {
    std::ofstream file(File(name), std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) std::abort();
    return File(name);
  }
  void Remove(const std::string& name) const {
    std::error_code ignored;
    std::filesystem::remove(File(name), ignored);
  }

 private:
  std::string path_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_FUZZ_SCRATCH_FOLDER_H_
