#include "services/trainer/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

// No run has as much; what a file says beyond is no report.
constexpr int64_t kMostSteps = int64_t{1} << 40;
constexpr double kLargestNumber = 1e15;
constexpr size_t kMostStages = 16;
constexpr size_t kMostNames = 64;
constexpr size_t kMostTexts = 10'000;  // notes and checkpoints, each
constexpr int kNameWidth = 40;
constexpr int kTextWidth = 400;
constexpr size_t kProblemsTold = 5;

// Where a report belongs: its stage, as numbered in `stages`, and the step in it.
using Place = std::pair<size_t, int64_t>;

absl::Status Wrong(absl::string_view key, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no ", wanted));
}

// The number at `key` or, if there is null or one that nothing measures, kNoNumber; nothing if
// there is none.
absl::StatusOr<absl::optional<double>> NumberAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return absl::optional<double>();
  if (found->is_null()) return absl::optional<double>(kNoNumber);
  if (!found->is_number()) return Wrong(key, "number");
  const double value = found->get<double>();
  return absl::optional<double>(std::abs(value) <= kLargestNumber ? value : kNoNumber);
}

absl::StatusOr<int64_t> CountAt(const Json& object, const char* key, int64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return Wrong(key, "whole number");
  if (found->is_number_unsigned() && found->get<uint64_t>() <= static_cast<uint64_t>(most)) {
    return static_cast<int64_t>(found->get<uint64_t>());
  }
  return Wrong(key, absl::StrCat("whole number from 0 to ", most));
}

absl::StatusOr<std::string> TextAt(const Json& object, const char* key, int width) {
  ASSIGN_OR_RETURN(const std::string text, StringAt(object, key, kMaxJsonLineBytes));
  return Printable(text, width);
}

const Json* ObjectAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

// By name, in the order in which names come.
template <typename T>
class Named {
 public:
  // Null where there are too many already.
  T* Find(const std::string& name) {
    for (auto& [known, value] : values_) {
      if (known == name) return &value;
    }
    if (values_.size() == kMostNames) return nullptr;
    return &values_.emplace_back(name, T()).second;
  }
  const std::vector<std::pair<std::string, T>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, T>> values_;
};

using Numbers = std::map<Place, double>;
using Recalls = std::map<Place, std::array<double, 3>>;

class Reader {
 public:
  // One line.  What is taken before an error is found stays.
  absl::Status Take(const Json& report) {
    ASSIGN_OR_RETURN(const std::string event, StringAt(report, "event", kMaxJsonLineBytes));
    if (event == "step") return TakeStep(report);
    if (event == "development") return TakeDevelopment(report);
    if (event == "validation") return TakeValidation(report);
    if (event == "checkpoint") return TakeCheckpoint(report);
    if (event == "note") return TakeNote(report);
    return absl::OkStatus();  // of a newer trainer
  }

  RunMetrics Finish() {
    for (size_t i = 1; i < stages_.size(); ++i) {
      const RunMetrics::Stage& before = stages_[i - 1];
      stages_[i].begin = before.begin + static_cast<double>(std::max(before.steps, before.step));
    }
    RunMetrics run;
    for (int kind = 0; kind < kStepNumberCount; ++kind) {
      for (const auto& [name, numbers] : numbers_[kind].values()) {
        run.numbers[kind].push_back({name, PointsOf(numbers)});
        AddGap(static_cast<StepNumber>(kind), run.numbers[kind].back(), &run.gaps);
      }
    }
    for (const auto& [name, recalls] : recalls_.values()) {
      run.recalls.push_back(LineOf(name, recalls));
    }
    for (const auto& [place, score] : scores_) {
      run.scores.push_back({{XOf(place), score.first}, score.second});
    }
    for (auto& [place, checkpoint] : checkpoints_) {
      checkpoint.x = XOf(place);
      run.checkpoints.push_back(checkpoint);
    }
    for (const auto& [place, message] : notes_) run.notes.push_back({XOf(place), message});
    run.stages = std::move(stages_);
    return run;
  }

 private:
  // The report's place; its stage is made if it is new.
  absl::StatusOr<Place> PlaceOf(const Json& report) {
    std::string name;
    if (report.contains("stage")) {
      ASSIGN_OR_RETURN(name, TextAt(report, "stage", kNameWidth));
    }
    ASSIGN_OR_RETURN(const int64_t step, CountAt(report, "step", kMostSteps));
    size_t stage = 0;
    while (stage < stages_.size() && stages_[stage].name != name) ++stage;
    if (stage == kMostStages) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"stage\" is '", name, "', and there are ", kMostStages, " already"));
    }
    if (stage == stages_.size()) stages_.emplace_back().name = name;
    stages_[stage].step = std::max(stages_[stage].step, step);
    last_ = Place(stage, step);
    return last_;
  }

  absl::Status TakeStep(const Json& report) {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(report));
    if (report.contains("steps")) {
      ASSIGN_OR_RETURN(stages_[place.first].steps, CountAt(report, "steps", kMostSteps));
    }
    RETURN_IF_ERROR(TakeTasks(report, place));
    RETURN_IF_ERROR(Take(report, "bi_loss", StepNumber::kLoss, "bi", place));
    RETURN_IF_ERROR(Take(report, "bi_accuracy", StepNumber::kFirst, "bi", place));
    RETURN_IF_ERROR(Take(report, "concept_loss", StepNumber::kLoss, "concept", place));
    RETURN_IF_ERROR(Take(report, "cross_loss", StepNumber::kLoss, "cross", place));
    RETURN_IF_ERROR(Take(report, "cross_accuracy", StepNumber::kFirst, "cross", place));
    RETURN_IF_ERROR(Take(report, "rate", StepNumber::kRate, "", place));
    RETURN_IF_ERROR(Take(report, "gradient_norm", StepNumber::kGradientNorm, "", place));
    RETURN_IF_ERROR(Take(report, "temperature", StepNumber::kTemperature, "", place));
    return Take(report, "items_per_second", StepNumber::kItemsPerSecond, "", place);
  }

  absl::Status TakeTasks(const Json& report, const Place& place) {
    const auto tasks = report.find("tasks");
    if (tasks == report.end()) return absl::OkStatus();
    if (!tasks->is_array()) return Wrong("tasks", "array");
    std::map<std::string, int> seen;
    for (const Json& task : *tasks) {
      if (!task.is_object()) return Wrong("tasks", "array of objects");
      ASSIGN_OR_RETURN(std::string name, TextAt(task, "objective", kNameWidth));
      // Runs of before TaskName have an objective twice, with other options.
      const int times = ++seen[name];
      if (times > 1) absl::StrAppend(&name, " (", times, ")");
      RETURN_IF_ERROR(Take(task, "loss", StepNumber::kLoss, name, place));
      RETURN_IF_ERROR(Take(task, "first", StepNumber::kFirst, name, place));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const Json& object, const char* key, StepNumber kind, const std::string& name,
                    const Place& place) {
    ASSIGN_OR_RETURN(const absl::optional<double> value, NumberAt(object, key));
    if (!value.has_value()) return absl::OkStatus();
    Numbers* const numbers = numbers_[static_cast<int>(kind)].Find(name);
    if (numbers == nullptr) return TooManyNames(name);
    (*numbers)[place] = *value;
    return absl::OkStatus();
  }

  absl::Status TakeDevelopment(const Json& report) {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(report));
    ASSIGN_OR_RETURN(const absl::optional<double> score, NumberAt(report, "score"));
    if (score.has_value()) scores_[place] = {*score, report.value("best", Json()) == true};
    const auto findings = report.find("findings");
    if (findings == report.end()) return absl::OkStatus();
    if (!findings->is_array()) return Wrong("findings", "array");
    for (const Json& finding : *findings) {
      if (!finding.is_object()) return Wrong("findings", "array of objects");
      ASSIGN_OR_RETURN(const std::string by, TextAt(finding, "by", kNameWidth));
      RETURN_IF_ERROR(TakeRecall(finding, "text_to_image", by + ", text to image", place));
      RETURN_IF_ERROR(TakeRecall(finding, "image_to_text", by + ", image to text", place));
    }
    return absl::OkStatus();
  }

  absl::Status TakeValidation(const Json& report) {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(report));
    for (const auto& [key, name] :
         {std::pair("validation", "validation"), std::pair("training", "training"),
          std::pair("image_to_text", "validation, image to text")}) {
      const Json* const queries = ObjectAt(report, key);
      if (queries == nullptr) continue;
      for (const auto& [way, told] :
           {std::pair("retrieval", "retrieval"), std::pair("reranked", "reranked"),
            std::pair("best", "best combination")}) {
        RETURN_IF_ERROR(TakeRecall(*queries, way, absl::StrCat(name, ", ", told), place));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeRecall(const Json& object, const char* key, const std::string& name,
                          const Place& place) {
    const Json* const recall = ObjectAt(object, key);
    if (recall == nullptr) return absl::OkStatus();
    std::array<double, 3> at;
    for (const auto& [i, cutoff] :
         {std::pair(0, "recall_at_1"), std::pair(1, "recall_at_5"), std::pair(2, "recall_at_10")}) {
      ASSIGN_OR_RETURN(const absl::optional<double> value, NumberAt(*recall, cutoff));
      at[i] = value.value_or(kNoNumber);
    }
    Recalls* const recalls = recalls_.Find(name);
    if (recalls == nullptr) return TooManyNames(name);
    (*recalls)[place] = at;
    return absl::OkStatus();
  }

  absl::Status TakeCheckpoint(const Json& report) {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(report));
    RunMetrics::Checkpoint checkpoint;
    checkpoint.stage = stages_[place.first].name;
    checkpoint.step = place.second;
    ASSIGN_OR_RETURN(checkpoint.path, TextAt(report, "path", kTextWidth));
    ASSIGN_OR_RETURN(checkpoint.bytes, CountAt(report, "bytes", INT64_MAX));
    if (checkpoints_.size() == kMostTexts && checkpoints_.count(place) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("is one of more than ", kMostTexts));
    }
    checkpoints_[place] = std::move(checkpoint);
    return absl::OkStatus();
  }

  absl::Status TakeNote(const Json& report) {
    ASSIGN_OR_RETURN(std::string message, TextAt(report, "message", kTextWidth));
    if (notes_.size() == kMostTexts) {
      return absl::InvalidArgumentError(absl::StrCat("is one of more than ", kMostTexts));
    }
    notes_.emplace_back(last_, std::move(message));
    return absl::OkStatus();
  }

  static absl::Status TooManyNames(const std::string& name) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is one name more than the ", kMostNames, " that are told"));
  }

  double XOf(const Place& place) const {
    const double begin = place.first < stages_.size() ? stages_[place.first].begin : 0;
    return begin + static_cast<double>(place.second);
  }

  std::vector<PlotPoint> PointsOf(const Numbers& numbers) const {
    std::vector<PlotPoint> points;
    for (const auto& [place, value] : numbers) points.push_back({XOf(place), value});
    return points;
  }

  RecallLine LineOf(const std::string& name, const Recalls& recalls) const {
    RecallLine line;
    line.name = name;
    for (const auto& [place, at] : recalls) {
      for (int i = 0; i < 3; ++i) line.at[i].push_back({XOf(place), at[i]});
    }
    return line;
  }

  static void AddGap(StepNumber kind, const MetricsLine& line, std::vector<RunMetrics::Gap>* gaps) {
    constexpr const char* kNames[] = {"loss",          "share first", "rate",
                                      "gradient norm", "temperature", "items a second"};
    RunMetrics::Gap gap;
    for (const PlotPoint& point : line.points) {
      if (std::isnan(point.y) && gap.count++ == 0) gap.first_x = point.x;
    }
    if (gap.count == 0) return;
    gap.name = kNames[static_cast<int>(kind)];
    if (!line.name.empty()) absl::StrAppend(&gap.name, " of ", line.name);
    gaps->push_back(std::move(gap));
  }

  std::vector<RunMetrics::Stage> stages_;
  Place last_;
  std::array<Named<Numbers>, kStepNumberCount> numbers_;
  Named<Recalls> recalls_;
  std::map<Place, std::pair<double, bool>> scores_;
  std::map<Place, RunMetrics::Checkpoint> checkpoints_;
  std::vector<std::pair<Place, std::string>> notes_;
};

absl::Status TakeLine(absl::string_view line, Reader* reader) {
  if (line.size() > kMaxJsonLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", line.size(), " bytes; the limit is ", kMaxJsonLineBytes));
  }
  const Json report = Json::parse(line.begin(), line.end(), /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (!report.is_object()) return absl::InvalidArgumentError("is no JSON object");
  return reader->Take(report);
}

}  // namespace

absl::StatusOr<RunMetrics> ParseRunMetrics(absl::string_view text) {
  Reader reader;
  std::vector<std::string> problems;
  int64_t number = 0, reports = 0, problem_count = 0;
  bool cut_off = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const absl::Status taken = TakeLine(line, &reader);
    if (taken.ok()) {
      ++reports;
    } else if (end == text.size()) {
      cut_off = true;
    } else if (++problem_count <= static_cast<int64_t>(kProblemsTold)) {
      problems.push_back(absl::StrCat("line ", number, ": ", taken.message()));
    }
  }
  if (reports == 0 && problem_count > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("no line is a report of a run; ", problems.front()));
  }
  RunMetrics run = reader.Finish();
  run.problems = std::move(problems);
  run.problem_count = problem_count;
  run.cut_off = cut_off;
  return run;
}

}  // namespace sightline
