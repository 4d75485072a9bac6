#include "common/batching/batch_metrics.h"

#include <string>

namespace sightline {

BatchMetrics BatchMetrics::Make(MetricsRegistry* metrics, absl::string_view queue) {
  const MetricLabels labels = {{"queue", std::string(queue)}};
  BatchMetrics made;
  made.batch_tasks =
      metrics->AddHistogram("batch_tasks", "Tasks in a batch.", PowerOfTwoBuckets(256), labels);
  made.batch_cost =
      metrics->AddHistogram("batch_cost", "Cost of a batch.", PowerOfTwoBuckets(16384), labels);
  made.wait_seconds = metrics->AddHistogram(
      "batch_wait_seconds", "Time a task waited for its batch.", LatencyBuckets(), labels);
  made.process_seconds = metrics->AddHistogram(
      "batch_process_seconds", "Time a batch was worked on.", LatencyBuckets(), labels);
  made.dropped = metrics->AddCounter("batch_dropped_tasks_total",
                                     "Tasks that expired or were cancelled in the queue.", labels);
  made.refused = metrics->AddCounter("batch_refused_tasks_total",
                                     "Tasks that were not let into the queue.", labels);
  made.queued_cost =
      metrics->AddGauge("batch_queued_cost", "Cost of the tasks that are waiting.", labels);
  return made;
}

}  // namespace sightline
