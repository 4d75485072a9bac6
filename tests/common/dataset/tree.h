// Small made-up folders for the readers.
#ifndef SIGHTLINE_TESTS_COMMON_DATASET_TREE_H_
#define SIGHTLINE_TESTS_COMMON_DATASET_TREE_H_

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/dataset/corpus.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// A folder that files are put into by relative path; parents appear by themselves.
class Tree {
 public:
  const std::string& root() const { return dir_.path(); }
  std::string Path(const std::string& relative) const { return dir_.File(relative); }

  void Put(const std::string& relative, const std::string& content) {
    const std::filesystem::path path = Path(relative);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    if (!std::filesystem::exists(path)) throw std::runtime_error("cannot write " + relative);
  }

  void Link(const std::string& target, const std::string& relative) {
    const std::filesystem::path path = Path(relative);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
  }

 private:
  TempDir dir_;
};

inline std::vector<std::string> IdsOf(const CorpusListing& listing) {
  std::vector<std::string> ids;
  for (const CorpusItem& item : listing.items) ids.push_back(item.item_id);
  return ids;
}

// "en:a dog|de:ein Hund"
inline std::string CaptionsOf(const CorpusItem& item) {
  std::string joined;
  for (const CorpusCaption& caption : item.captions) {
    if (!joined.empty()) joined += "|";
    joined += caption.language + ":" + caption.text;
  }
  return joined;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_DATASET_TREE_H_
