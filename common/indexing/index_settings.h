// How people say which index they want, the same on every command line and in configurations:
//
//   --kind ivf --code int8 --lists 4096 --recall 0.9      what to build
//   --recall 0.95 --bytes-per-item 200                    what it has to be worth
//   --fastest
//
//   index_build:
//     kind: hnsw              # default: chosen for `recall`, if that is given; else as it was
//     code: int8              # of ivf: rows, int8, pq4, rabitq; of hnsw: rows, int8
//     lists: 4096             # of ivf
//     pq_parts: 96            # of ivf's pq4
//     links: 16               # of hnsw
//     build_effort: 200       # of hnsw
//     refine: 3               # candidates that are scored exactly for a neighbor
//     recall: 0.95            # of a kind: what searches get that ask for none
//     bytes_per_item: 200     # in memory, at most, of what is chosen
//     fastest: false          # choose without a bound of memory
//     rows_on_disk: false     # leave exact rows on the disk of servers
//     seed: 1
//     max_memory: 8GiB        # of building; default: 80 % of what there is
#ifndef SIGHTLINE_COMMON_INDEXING_INDEX_SETTINGS_H_
#define SIGHTLINE_COMMON_INDEXING_INDEX_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/config/command_line.h"
#include "common/config/config.h"
#include "common/index/index_choice.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Which index a generation is to have.
struct IndexWish {
  // To be built as it says, but for what it leaves open.  Without a kind: chosen for `target`, or,
  // without that either, what a manifest without an index_spec means.
  bundle::v1::IndexSpec spec;
  absl::optional<IndexTarget> target;
  int64_t max_bytes = 0;  // of IndexBuildOptions

  bool is_empty() const { return spec.kind().empty() && !target.has_value(); }
  // All that the built files depend on but for rows and probes; equal wishes, equal texts.
  std::string Text() const;
};

// What was said, each where it was; nothing of it is checked.
struct IndexSettings {
  std::string kind, code;
  int lists = 0, pq_parts = 0, links = 0, build_effort = 0, refine = 0;
  std::string recall;  // a number
  int64_t bytes_per_item = 0;
  bool fastest = false, rows_on_disk = false;
  int64_t seed = 1;
  int64_t max_memory = 0;
};

// Defines flags that set `settings`, which outlives them.  `prefix` stands before the names of a
// kind, its parameters and the seed, where a command has others alike: "index-".
void AddIndexFlags(absl::string_view prefix, Flags* flags, IndexSettings* settings);

// InvalidArgument for a kind or a code that there is none of, and for what does not go together.
absl::StatusOr<IndexWish> WishOf(const IndexSettings& settings);

// InvalidArgument for parameters of a kind that `wish` names which it does not take for embeddings
// of `dimension` numbers; WishOf has refused what it takes for none.  For those who are about to
// write a generation: MakeIndex would say it when the shards are written.
absl::Status CheckIndexWish(const IndexWish& wish, int dimension);

// Reads the section `name`, with its problems.
IndexWish ReadIndexWish(ConfigReader root, absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEXING_INDEX_SETTINGS_H_
