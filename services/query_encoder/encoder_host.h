// What query_encoder does with a generation: it holds the models that encode its queries.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODER_HOST_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODER_HOST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/device/device_info.h"
#include "common/generations/generation_follower.h"
#include "common/models/model_cache.h"
#include "services/query_encoder/encode_engine.h"

namespace sightline {

class EncoderHost : public GenerationHost {
 public:
  // `models` reads the bundles of `store` and outlives the host.
  EncoderHost(std::string store, ModelCache* models);

  std::vector<std::string> Files(const Manifest& manifest) const override;
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override;
  absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      absl::Span<const Manifest* const> generations) override;

  // FailedPrecondition unless its encoder writes to the generation's space.
  absl::Status Check(const Manifest& manifest) override;

  // OK: models are compared when they are loaded, and nothing is remembered of that.
  absl::Status Verify(const Manifest& manifest, const CallContext& call) override;
  void Distrust(const Manifest&) override {}

  // An EncoderGeneration, warm.  FailedPrecondition (NO_CROSS_ENCODER) if what it names as
  // a reranker is none.
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool verified,
                              const CallContext& call) override;

 private:
  const std::string store_;
  ModelCache* const models_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_ENCODER_HOST_H_
