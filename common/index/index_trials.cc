// Which kinds, with which parameters, are worth trying.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/index/index_choice.h"
#include "common/index/index_kinds.h"

namespace sightline {
namespace {

// Lists for each root of the rows.
constexpr double kFewLists = 4;
constexpr double kManyLists = 16;

struct IvfTrial {
  absl::string_view code;
  double numbers_of_part;  // 0: pq_parts as spec_defaults.h has it
};
// Codes along a sixth of the axes are for embeddings that fill few of their dimensions.
constexpr IvfTrial kIvfTrials[] = {
    {"rows", 0}, {"int8", 0}, {"pq4", 0}, {"rabitq", 0}, {"rabitq", 12}};

struct HnswTrial {
  absl::string_view code;
  int links;
};
constexpr HnswTrial kHnswTrials[] = {{"rows", 16}, {"rows", 32}, {"int8", 16}, {"int8", 32}};

std::vector<IndexTrial> AllTrials() {
  std::vector<IndexTrial> trials;
  for (const char* kind : {"flat", "flat_int8"}) {
    trials.emplace_back().spec.set_kind(kind);
  }
  for (const double factor : {kFewLists, kManyLists}) {
    for (const IvfTrial& ivf : kIvfTrials) {
      IndexTrial& trial = trials.emplace_back();
      trial.list_factor = factor;
      trial.spec.set_kind("ivf");
      trial.spec.mutable_ivf()->set_code(std::string(ivf.code));
      trial.numbers_of_part = ivf.numbers_of_part;
    }
  }
  for (const HnswTrial& hnsw : kHnswTrials) {
    IndexTrial& trial = trials.emplace_back();
    trial.spec.set_kind("hnsw");
    trial.spec.mutable_hnsw()->set_code(std::string(hnsw.code));
    trial.spec.mutable_hnsw()->set_link_count(hnsw.links);
  }
  return trials;
}

}  // namespace

std::vector<IndexTrial> TrialsFor(const IndexTarget& target, int64_t row_bytes) {
  const bool fit = target.bytes_per_item == 0 || target.bytes_per_item >= row_bytes;
  std::vector<IndexTrial> trials;
  for (IndexTrial& trial : AllTrials()) {
    bundle::v1::GenerationManifest manifest;
    *manifest.mutable_index_spec() = trial.spec;
    const absl::StatusOr<const IndexKind*> kind = IndexKindOf(manifest);
    if (!kind.ok()) continue;
    trial.kind = *kind;
    if (fit && !target.rows_on_disk) trials.push_back(trial);
    if ((target.bytes_per_item == 0 && !target.rows_on_disk) ||
        !trial.kind->rows_on_disk(trial.spec)) {
      continue;
    }
    trial.spec.set_rows_on_disk(true);
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace sightline
