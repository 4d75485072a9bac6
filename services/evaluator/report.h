// What was measured, for people and for programs.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_REPORT_H_
#define SIGHTLINE_SERVICES_EVALUATOR_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/evaluation/protocol.h"

namespace sightline {

// One index as it was measured.
struct EvaluatedIndex {
  std::string index;
  std::string generation;
  int64_t item_count = 0;
  std::string encoder_model;
  std::string reranker_model;                    // empty: retrieval only
  std::string reranker;                          // its name
  absl::optional<DeclaredCombination> declared;  // by that model's bundle
};

// Of what `measure --json` writes.  1 had one choice for both directions; 2 no ranks, and did not
// say of retrieval whether it is declared.
inline constexpr int kReportVersion = 3;

struct MeasureReport {
  bool live = false;  // asked of a fleet, not computed in this process
  EvaluatedIndex images;
  EvaluatedIndex captions;
  std::string language;
  bool every_caption = false;  // is a query, as the papers count; both directions have a mean then
  std::vector<int> depths;
  int list_length = kListLength;
  int64_t limit = 0;  // queries of each split; 0: all
  BootstrapOptions bootstrap;
  std::vector<Measurement> measurements;
  std::string earlier;          // what it is held against, for people; empty: nothing
  std::vector<Choice> choices;  // one for each direction, if they were asked for

  const EvaluatedIndex& target(Direction direction) const {
    return direction == Direction::kTextToImage ? images : captions;
  }
};

// Which captions ask: "first", "all".
std::string CaptionsText(bool every_caption);

// "train", "validation", "held_out"; "all" for none.
std::string SplitText(absl::optional<Split> split);

// Whether that is what is served when nobody asks for another.
bool IsDeclared(const Method& method, const absl::optional<DeclaredCombination>& declared);

// One block for each direction and split, then those of what is held against an earlier report,
// then the choices.  Of the combinations only replace and the declared one are shown, unless `all`.
std::string ReportText(const MeasureReport& report, bool all);

// All of it, indented, with a newline at the end; README.md describes it.
std::string ReportJson(const MeasureReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_REPORT_H_
