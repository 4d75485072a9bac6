// The papers' tables, for people and for programs.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_REPORT_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "common/embedding/score.h"
#include "common/evaluation/bootstrap.h"
#include "common/evaluation/matrix_measure.h"
#include "common/evaluation/method.h"
#include "common/evaluation/retrieval_table.h"
#include "common/evaluation/score_timing.h"
#include "services/evaluator/paper_layouts.h"

namespace sightline {

struct TablesReport {
  // One row of a table.
  struct Ranking {
    std::string policy;  // "be", "be:ce"
    Method method;
    // Of a caption, among the images of its pool; nothing where it is not known.
    absl::optional<QueryTime> time = absl::nullopt;
    int runs = 1;  // that its numbers are the mean of
    // What the reranking scores are; nothing without any.
    absl::optional<ScoreKind> kind = absl::nullopt;
  };

  std::vector<std::pair<std::string, std::string>> matrices, ensembles;  // by name: files, A+B
  std::vector<std::string> lists;    // files, where there are no matrices
  int list_length = 0;               // where they end
  int64_t queries_beyond_lists = 0;  // of which a list lacks something that is right
  std::string protocol;
  MatrixMeasureOptions measure;
  RecallTriple recall = RecallTriple::k1To10;
  bool image_to_text_first = true;
  BootstrapOptions bootstrap;
  std::vector<TablePart> parts;
  std::vector<Ranking> rankings;
  std::vector<MethodRow> rows;              // of each ranking
  std::vector<const PaperLayout*> layouts;  // that its tables have; none: ours
  std::vector<AskingCaptions> asking;       // of each pool
};

// In each layout in turn.  In ours: for each part R@K, AR and rsum, then the other measures; then
// Meta-Ave, if there are several.
std::string TablesText(const TablesReport& report);

// Everything, indented, with a newline at the end; README.md describes it.
std::string TablesJson(const TablesReport& report);

// A line of titles, then one for each part and ranking.  Shares are fractions.
std::string TablesCsv(const TablesReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_REPORT_H_
