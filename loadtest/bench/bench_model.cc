#include "loadtest/bench/bench_model.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/oscar/small_manifest.h"

namespace sightline {

bundle::v1::ModelBundleManifest BenchManifest(bool base_size) {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  manifest.clear_grid_extractor();
  if (!base_size) return manifest;
  manifest.mutable_embedding()->set_dimension(768);
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  transformer->set_layer_count(12);
  transformer->set_hidden_size(768);
  transformer->set_head_count(12);
  transformer->set_intermediate_size(3072);
  transformer->set_region_feature_size(2054);
  return manifest;
}

absl::StatusOr<ModelBundle> WriteBenchModel(absl::string_view store,
                                            const bundle::v1::ModelBundleManifest& manifest,
                                            int words, WeightDtype dtype) {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 0; i < words; ++i) absl::StrAppend(&vocabulary, "word", i, "\n");
  InitOptions options;
  options.dtype = dtype;
  return InitModel(store, manifest, vocabulary, options);
}

std::vector<std::string> BenchPrecisions() {
  std::set<std::string> precisions;
  for (const kernels::ProductKernel* kernel : kernels::KernelsOf(kernels::ThisCpu())) {
    precisions.insert(kernel->precision);
  }
  return {precisions.begin(), precisions.end()};
}

}  // namespace sightline
