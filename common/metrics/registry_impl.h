// What MetricsRegistry and MetricsServer share.  Private to common/metrics.
#ifndef SIGHTLINE_COMMON_METRICS_REGISTRY_IMPL_H_
#define SIGHTLINE_COMMON_METRICS_REGISTRY_IMPL_H_

#include <prometheus/registry.h>

#include <memory>

#include "common/metrics/metrics.h"

namespace sightline {

struct MetricsRegistry::Impl {
  // Shared, because a page being written holds on to it.
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_METRICS_REGISTRY_IMPL_H_
