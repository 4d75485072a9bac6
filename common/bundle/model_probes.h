// The probes of a model bundle: texts and items on which its precisions are compared.
#ifndef SIGHTLINE_COMMON_BUNDLE_MODEL_PROBES_H_
#define SIGHTLINE_COMMON_BUNDLE_MODEL_PROBES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/item_features.h"
#include "common/bundle/model_bundle.h"
#include "sightline/bundle/v1/model_probes.pb.h"

namespace sightline {

inline constexpr absl::string_view kProbesFile = "probes.binpb";
inline constexpr int64_t kMaxProbesBytes = int64_t{64} << 20;
// Below ten items there is no first ten, and with ten there is nothing outside of it.
inline constexpr int kLeastProbeItems = 20;
inline constexpr int kMostProbeItems = 1024;
inline constexpr int kLeastProbeTexts = 2;
inline constexpr int kMostProbeTexts = 256;
inline constexpr size_t kMostProbeTextBytes = 4096;

// Those of a verified bundle.  NotFound: it has none.  DataLoss: they are not what CheckProbes
// asks for.  FailedPrecondition (NEWER_FORMAT): a newer format.
absl::StatusOr<bundle::v1::ModelProbes> ReadModelProbes(const ModelBundle& bundle);

bool HasProbes(const bundle::v1::ModelBundleManifest& manifest);

// Those in the file's bytes, whatever these are.  Errors as ReadModelProbes.
absl::StatusOr<bundle::v1::ModelProbes> ParseProbes(absl::string_view bytes);

// InvalidArgument, which names the text or item, where a number is outside of what
// model_probes.proto says, tensors have other lengths than their shapes, or some items have an
// embedding, or features, and others have not.  Whether the model takes them is not looked at.
absl::Status CheckProbes(const bundle::v1::ModelProbes& probes);

// Writes `bundle` with these probes, in the place of its own if it has some, as another model
// below `store`: of the same embedding space, and of an id of its own.  DataLoss if the bundle is
// damaged; InvalidArgument as CheckProbes; otherwise as StreamModelBundle.
absl::StatusOr<ModelBundle> WithProbes(const ModelBundle& bundle,
                                       const bundle::v1::ModelProbes& probes,
                                       absl::string_view store);

// As the bundle's file holds them; equal probes give equal bytes.
std::string SerializeProbes(const bundle::v1::ModelProbes& probes);

ItemFeatures FeaturesOf(const bundle::v1::ProbeItem& item);
void SetFeatures(const ItemFeatures& features, bundle::v1::ProbeItem* item);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_MODEL_PROBES_H_
