// What an entry of the mix asks: queries from files, in the order in which they are used.
#ifndef SIGHTLINE_LOADTEST_SCENARIO_QUERY_SOURCE_H_
#define SIGHTLINE_LOADTEST_SCENARIO_QUERY_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

struct SourceQuery {
  std::string value;                     // a text, an encoded picture, or an item id
  std::vector<std::string> known_items;  // one among the hits is right; empty: not known
};

inline constexpr int64_t kMaxQueryFileBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxQueries = 1'000'000;
inline constexpr int64_t kMaxAllPicturesBytes = int64_t{512} << 20;

// The queries of `entry.queries`, each once, shuffled by `seed`, and no more than
// `entry.distinct` if that is set:
//   text   a text a line, or, from a file named *.jsonl, questions as
//          common/evaluation/questions.h reads them; equal questions become one, which any
//          of their items answers
//   image  files below the folder that end in .jpg, .jpeg, .png or .webp, hidden ones left
//          out; only those used are read
//   item   an id a line
// Space around a line and blank lines are passed over.  Not empty.  `entry.queries` is set.
//
// NotFound, PermissionDenied: the file.  InvalidArgument, naming file and line: no text, no
// UTF-8, a line too long, nothing in it.  ResourceExhausted: beyond the bounds above.
absl::StatusOr<std::vector<SourceQuery>> LoadQueries(const MixEntry& entry, uint64_t seed);

// The same for ids that are known otherwise, such as those of the searched fleet.
// InvalidArgument if there is none.
absl::StatusOr<std::vector<SourceQuery>> ItemQueries(std::vector<std::string> item_ids,
                                                     const MixEntry& entry, uint64_t seed);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCENARIO_QUERY_SOURCE_H_
