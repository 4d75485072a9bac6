// A folder of pictures, with or without captions.
//
// Every file below the folder is an item, whatever its name ends in: what a file holds
// is known when it is decoded.  Files and folders whose name starts with a dot are left
// out, as is the caption file; what else is no regular file is rejected.  The item id is the path
// relative to the folder.
//
// Captions come from a file of JSON lines, one object per line (item_line.h); its `path` is
// relative to the folder and required.
#ifndef SIGHTLINE_COMMON_DATASET_FOLDER_READER_H_
#define SIGHTLINE_COMMON_DATASET_FOLDER_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/dataset/corpus.h"

namespace sightline {

struct FolderOptions {
  std::string root;
  // Empty: `captions.jsonl` in the folder, if there is one.
  std::string captions_file;
  // Put before each item id, "holiday/" for instance, so that two folders can share an
  // index.
  std::string id_prefix;
  // Only files whose path ends in it are items, and their ids go without it; empty: all.
  std::string suffix;
  // Which captions to read; empty reads all.
  std::vector<std::string> languages = {"en"};
};

// The items of the folder, in the order of paths.  NotFound if the folder is not there;
// InvalidArgument naming each bad line (ten at most) of the caption file: not JSON, a wrong type, a
// path that is given twice or is no file of the folder.  Names and lines are sorted on disk where
// they are many: memory does not grow with the folder.
absl::Status ListFolder(const FolderOptions& options, ListingSink& sink);

// Its files are pictures.  Its listing is that above.
std::unique_ptr<CorpusReader> NewFolderReader(const FolderOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_FOLDER_READER_H_
