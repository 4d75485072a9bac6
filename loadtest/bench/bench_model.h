// The models that are measured: OSCAR's, of two sizes, with random weights.
#ifndef SIGHTLINE_LOADTEST_BENCH_BENCH_MODEL_H_
#define SIGHTLINE_LOADTEST_BENCH_BENCH_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/init_model.h"

namespace sightline {

// 12 layers of width 768, regions of 2 054 numbers; else the demo's 4 of 256.  Regions are given.
bundle::v1::ModelBundleManifest BenchManifest(bool base_size);

// Below `store`, whose words are "word0" to "word<words - 1>".
absl::StatusOr<ModelBundle> WriteBenchModel(absl::string_view store,
                                            const bundle::v1::ModelBundleManifest& manifest,
                                            int words, WeightDtype dtype);

// Of this CPU's kernels, each once.
std::vector<std::string> BenchPrecisions();

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_BENCH_MODEL_H_
