// What a run's metrics.jsonl tells, in order: the reports of `trainer train` and `trainer learn`
// (training_reporter.h, recipe_reporter.h) as numbers over steps.
//
// Of two reports of the same stage and step the later one holds, as a run that was killed says
// some steps again.  Such a run may also have left half a line; lines that are no report are left
// out and told.  A number that is none (a loss that was NaN is written as null) is kNoNumber.
#ifndef SIGHTLINE_SERVICES_TRAINER_RUN_METRICS_H_
#define SIGHTLINE_SERVICES_TRAINER_RUN_METRICS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/plot/plot.h"

namespace sightline {

// What a step's report has.  The first two are of each task.
enum class StepNumber : int {
  kLoss,
  kFirst,  // share of what was ranked whose right answer came first
  kRate,
  kGradientNorm,
  kTemperature,
  kItemsPerSecond,
};
inline constexpr int kStepNumberCount = 6;

// A number over steps, counted from the run's beginning through all stages.
struct MetricsLine {
  std::string name;  // the task's; empty for what a step has once
  std::vector<PlotPoint> points;
};

// Recall in percent, over steps.
struct RecallLine {
  std::string name;                          // "towers, text to image"; "validation, reranked"
  std::array<std::vector<PlotPoint>, 3> at;  // R@1, R@5, R@10
};

struct RunMetrics {
  struct Stage {
    std::string name;   // "bi"; empty where the run has one
    double begin = 0;   // steps of the stages before it
    int64_t step = 0;   // the last that was reported
    int64_t steps = 0;  // that it has
  };
  // Where the weights of `learn` were looked at.
  struct Score {
    PlotPoint at;  // AR of the development pictures, in percent
    bool best = false;
  };
  struct Checkpoint {
    double x = 0;
    std::string stage, path;
    int64_t step = 0, bytes = 0;
  };
  struct Note {
    double x = 0;  // after the step that was reported before it
    std::string message;
  };
  // Numbers of a line that are none.
  struct Gap {
    std::string name;  // "loss of cmr"
    int64_t count = 0;
    double first_x = 0;
  };

  std::vector<Stage> stages;
  std::array<std::vector<MetricsLine>, kStepNumberCount> numbers;
  std::vector<RecallLine> recalls;
  std::vector<Score> scores;
  std::vector<Checkpoint> checkpoints;
  std::vector<Note> notes;
  std::vector<Gap> gaps;
  // What was left out: "line 7: not valid JSON", the first few; and how many there were.
  std::vector<std::string> problems;
  int64_t problem_count = 0;
  bool cut_off = false;  // the last line, which has no end

  const std::vector<MetricsLine>& of(StepNumber number) const {
    return numbers[static_cast<int>(number)];
  }
};

// The text of metrics.jsonl.  An empty one is a run that has not reported yet.  InvalidArgument if
// there are lines and none of them is a report.
absl::StatusOr<RunMetrics> ParseRunMetrics(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_RUN_METRICS_H_
