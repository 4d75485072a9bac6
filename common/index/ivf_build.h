// How the file of an inverted file is made (ivf_shape.h has what is in it).
//
// Centroids are trained on a sample and kept as int8; each row then goes to the list whose
// centroid, as kept, is nearest; and codes are made of what it leaves.  Rows pass in blocks,
// shared out over the pool: twice (codes of more than a gigabyte: once more for each).
#ifndef SIGHTLINE_COMMON_INDEX_IVF_BUILD_H_
#define SIGHTLINE_COMMON_INDEX_IVF_BUILD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/index/index_kind.h"
#include "common/index/ivf_shape.h"
#include "common/kernels/cpu.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Bytes that a build takes in memory beside the rows, for any number of threads up to 64.
int64_t IvfBuildMemory(const IvfShape& shape, int threads);

// A hash of what the file of `build` follows from, of rows and parameters and of how a CPU with
// `features` computes, which rounds as its kernels do: stages of another one are not gone on from.
// Errors as RowReader::Read.
absl::StatusOr<std::string> IvfFingerprint(const IndexBuild& build, const IvfShape& shape,
                                           const kernels::CpuFeatures& features);

// As IndexKind::build.
absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildIvf(const IndexBuild& build);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_BUILD_H_
