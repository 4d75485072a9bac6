// Region features of any format into one file of ours.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/dtype.h"
#include "common/dataset/corpus.h"
#include "common/dataset/open_corpus.h"

namespace sightline {

struct ImportedRegions {
  int64_t item_count = 0;
  std::vector<CorpusProblem> left_out;  // items that one file cannot hold, and why
  std::vector<CorpusProblem> warnings;  // captions that were left out
};

// Told now and then how many reads of items are done, of how many.
using ImportProgress = std::function<void(int64_t done, int64_t total)>;

// Writes every item of `spec` whose regions pass (common/image/region_set.h) to `out`
// (region_file.h), with captions of all languages.  Left out are also those with boxes or
// confidences where most have none, or the other way round, and features too large for
// `features`.  InvalidArgument if the corpus holds pictures or no good item, or `out` is a
// folder; otherwise as OpenCorpus, List and WriteRegionFile.
absl::StatusOr<ImportedRegions> ImportRegions(const CorpusSpec& spec, const std::string& out,
                                              Dtype features, const ImportProgress& progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_H_
