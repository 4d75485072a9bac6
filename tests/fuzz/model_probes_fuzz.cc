// Any bytes as a bundle's probes.  What is taken is within the bounds that model_probes.proto
// states, and is the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_probes.h"

namespace {

using sightline::FeatureTensor;
using sightline::ItemFeatures;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckItem(const sightline::bundle::v1::ProbeItem& item) {
  const ItemFeatures features = sightline::FeaturesOf(item);
  for (const FeatureTensor& tensor : features.tensors) {
    Require(tensor.rows >= 0 && tensor.columns >= 1);
    Require(tensor.bytes.size() ==
            static_cast<size_t>(tensor.rows * tensor.columns) * sightline::DtypeSize(tensor.dtype));
  }
  sightline::bundle::v1::ProbeItem again;
  sightline::SetFeatures(features, &again);
  Require(again.features_size() == item.features_size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto probes =
      sightline::ParseProbes(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!probes.ok()) {
    Require(absl::IsDataLoss(probes.status()) || absl::IsFailedPrecondition(probes.status()));
    return 0;
  }
  Require(sightline::CheckProbes(*probes).ok());
  for (const auto& text : probes->texts()) {
    for (const int item : text.relevant_items()) Require(item >= 0 && item < probes->items_size());
  }
  for (const auto& item : probes->items()) CheckItem(item);
  const std::string written = sightline::SerializeProbes(*probes);
  const auto again = sightline::ParseProbes(written);
  Require(again.ok() && sightline::SerializeProbes(*again) == written);
  return 0;
}
