// Where the right answers stand in the lists that a measurement has seen, as a file: what
// `measure --lists` writes, of a fleet or of this process, and `tables --lists` makes tables of.
#ifndef SIGHTLINE_COMMON_EVALUATION_LIST_FILE_H_
#define SIGHTLINE_COMMON_EVALUATION_LIST_FILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/evaluation/method.h"
#include "common/evaluation/query.h"
#include "common/evaluation/score_timing.h"

namespace sightline {

// More than six hundred thousand captions by the methods that `measure` has of itself.
inline constexpr int64_t kMaxListFileBytes = int64_t{1} << 28;
inline constexpr size_t kMaxListMethods = 1000;

struct ListedQuery {
  std::string image;     // that asks, or whose caption does
  int64_t relevant = 0;  // how many items are right, at least one
  // By method, those of them that are in the list: from 1, in ascending order.
  std::vector<std::vector<int>> places;
};

// A value.
struct ListFile {
  bool live = false;                           // asked of a fleet
  std::string images, captions;                // that were searched, "index/generation"
  int64_t image_count = 0, caption_count = 0;  // in them
  std::string language;                        // of the captions that asked, and are right
  int list_length = 0;                         // where lists end
  std::vector<Method> methods;                 // the first is retrieval alone
  // By method, of a caption that asks alone; nothing where that was not measured.
  std::vector<absl::optional<QueryTime>> times;
  std::array<std::vector<ListedQuery>, 2> queries;  // by direction, some of each

  const std::vector<ListedQuery>& of(Direction direction) const {
    return queries[static_cast<int>(direction)];
  }
  std::vector<ListedQuery>& of(Direction direction) { return queries[static_cast<int>(direction)]; }
};

// A JSON object a line: what it is of, then each query.
std::string FormatListFile(const ListFile& file);

// InvalidArgument, naming the line and the key, for anything malformed: places that do not rise,
// that are behind a list's end or more than there are right items, numbers that nothing has, a
// method that stands there twice or a first one that is not retrieval, an image that asks twice or
// not although its caption does; and for a file without queries of both directions.
absl::StatusOr<ListFile> ParseListFile(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_LIST_FILE_H_
