// A parsed file as a tree of our own, so that yaml-cpp stays in one file, and the
// problems found in it.  Private to common/config.
#ifndef SIGHTLINE_COMMON_CONFIG_CONFIG_DOCUMENT_H_
#define SIGHTLINE_COMMON_CONFIG_CONFIG_DOCUMENT_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {
namespace config_internal {

// Lines and columns count from 1, as editors do.
struct Position {
  int line = 1;
  int column = 1;
};

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  struct Entry {
    std::string key;
    Position position;  // of the key
    std::unique_ptr<Node> value;
    bool known = false;  // somebody asked for it
  };

  Kind kind = Kind::kNull;
  Position position;
  std::string scalar;                        // kScalar
  std::vector<std::unique_ptr<Node>> items;  // kList
  std::vector<Entry> entries;                // kMap, in the file's order
  std::vector<std::string> asked;            // kMap: names that somebody asked for
  bool opened = false;                       // kMap: a ConfigReader was made for it
  // Stands in for a section of the wrong type, whose own problem is noted already:
  // nothing that is missing in it is worth a word.
  bool silent = false;
};

struct Problem {
  Position position;
  std::string text;
};

struct Document {
  std::string source_name;
  std::unique_ptr<Node> root;  // a map
  std::deque<Node> absent;     // maps that stand in for sections that are not there
  std::vector<Problem> problems;
};

// "a map", "a list", ...
absl::string_view KindName(Node::Kind kind);

// As ConfigFile::Parse.  A key that stands twice in a map is noted in `problems`; the
// first one counts.
absl::StatusOr<std::unique_ptr<Document>> ParseDocument(absl::string_view text,
                                                        absl::string_view source_name);

}  // namespace config_internal
}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_CONFIG_DOCUMENT_H_
