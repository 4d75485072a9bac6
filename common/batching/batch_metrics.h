// What the metrics page shows of one batch queue, all with the label queue="<name>".
#ifndef SIGHTLINE_COMMON_BATCHING_BATCH_METRICS_H_
#define SIGHTLINE_COMMON_BATCHING_BATCH_METRICS_H_

#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"

namespace sightline {

// A value; one made by default counts nothing.
struct BatchMetrics {
  Histogram batch_tasks;      // batch_tasks: tasks of a batch
  Histogram batch_cost;       // batch_cost: cost of a batch
  Histogram wait_seconds;     // batch_wait_seconds: of a task, from Submit to its batch
  Histogram process_seconds;  // batch_process_seconds: of a batch
  Counter dropped;            // batch_dropped_tasks_total: expired or cancelled in the queue
  Counter refused;            // batch_refused_tasks_total: by Submit
  Gauge queued_cost;          // batch_queued_cost

  static BatchMetrics Make(MetricsRegistry* metrics, absl::string_view queue);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_BATCH_METRICS_H_
