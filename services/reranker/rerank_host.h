// What reranker does with a generation: it holds the cross-encoders and reads the item
// features that they ask for.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANK_HOST_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANK_HOST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bundle/verify.h"
#include "common/device/device_info.h"
#include "common/generations/generation_follower.h"
#include "common/generations/janitor.h"
#include "common/models/model_cache.h"
#include "services/reranker/rerank_engine.h"

namespace sightline {

struct RerankHostOptions {
  std::string store;
  std::string state_dir;  // of the stamps
  bool verify = true;
};

class RerankHost : public GenerationHost {
 public:
  // `models` reads the bundles of the store, `janitor` frees the features' files; both
  // outlive whatever is loaded.
  RerankHost(const RerankHostOptions& options, ModelCache* models, Janitor* janitor);

  std::vector<std::string> Files(const Manifest& manifest) const override;

  // The models, and of features where each item's lie.  Features themselves are read when
  // they are asked for: what the machine has to spare keeps the popular ones.
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override;
  absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      absl::Span<const Manifest* const> generations) override;

  // As CheckLengths.
  absl::Status Check(const Manifest& manifest) override;

  // As VerifyGeneration.
  absl::Status Verify(const Manifest& manifest, const CallContext& call) override;
  void Distrust(const Manifest& manifest) override;

  // A RerankGeneration, warm; without a model if the generation is retrieval only.
  // FailedPrecondition (NO_CROSS_ENCODER) if what it names as a reranker is none.
  // Otherwise as VerifyGeneration.
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool verified,
                              const CallContext& call) override;

 private:
  VerifyOptions WhatIsServed() const;
  void ExpectIndexAlone(const Manifest& manifest) const;
  std::string FeaturesPath(const Manifest& manifest, int shard) const;

  const RerankHostOptions options_;
  ModelCache* const models_;
  Janitor* const janitor_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANK_HOST_H_
