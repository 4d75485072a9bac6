// Any bytes as a manifest.  The first byte chooses: 'm' a model bundle's, 'g' a
// generation's, anything else CURRENT.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Whether `parse` gives an error that belongs here, or a manifest that survives the way
// through its own JSON; but for a fraction of -0, which is written as -0 and read as 0.
template <typename Parse>
void CheckParse(Parse parse, absl::string_view json) {
  const auto manifest = parse(json);
  if (!manifest.ok()) {
    Require(absl::IsDataLoss(manifest.status()) || absl::IsFailedPrecondition(manifest.status()));
    return;
  }
  const std::string written = sightline::ManifestJson(*manifest);
  const auto again = parse(written);
  Require(again.ok());
  const std::string rewritten = sightline::ManifestJson(*again);
  Require(rewritten == written || written.find("-0") != std::string::npos);
  const auto last = parse(rewritten);
  Require(last.ok());
  Require(sightline::ManifestJson(*last) == rewritten);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view json(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'm') {
    CheckParse(sightline::ParseModelBundleManifest, json);
    const auto manifest = sightline::ParseModelBundleManifest(json);
    if (manifest.ok()) Require(sightline::EmbeddingSpaceOf(*manifest).size() == 64);
  } else if (data[0] == 'g') {
    CheckParse(sightline::ParseGenerationManifest, json);
  } else {
    CheckParse(sightline::ParseCurrentGeneration, json);
  }
  return 0;
}
