// What `tables` is asked for.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_FLAGS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/usable_cores.h"
#include "common/config/command_line.h"
#include "common/embedding/score.h"
#include "common/evaluation/bootstrap.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/matrix_measure.h"
#include "common/evaluation/retrieval_table.h"
#include "services/evaluator/paper_layouts.h"

namespace sightline {

struct TablesFlags {
  std::vector<std::string> matrices, ensembles, runs, policies, languages, layouts, seconds, lists;
  std::string pairs, families;
  std::string protocol;                        // empty: whole
  std::string depths, lambdas, rerank_scores;  // empty: not given
  std::string ties;                            // empty: order
  std::string columns = "tr-ir";
  std::string recall = "1,5,10";
  std::string json, csv, page;
  MatrixMeasureOptions measure;
  BootstrapOptions bootstrap;
  int threads = UsableCores();

  void Define(Flags* flags);
};

// The command line, understood.
struct TablesPlan {
  struct Matrix {
    std::string name, file;
  };
  struct Ensemble {
    std::string name;
    std::vector<std::string> members;  // names of matrices
  };
  // "be", or "be:ce": scores by name; without reranking `rerank` is empty.
  struct Stages {
    std::string retrieval, rerank;
  };
  struct Policy {
    std::string name;
    std::vector<Stages> runs;  // one; or those of --runs, whose results are averaged
    std::vector<Method> methods;
  };

  std::vector<std::string> lists;  // files; if there are any, there are no matrices
  std::vector<Matrix> matrices;
  std::vector<Ensemble> ensembles;
  std::vector<Policy> policies;
  Protocol protocol;
  std::vector<std::string> languages;     // empty: all captions are one; "each": each the file has
  absl::optional<ScoreKind> rerank_kind;  // none: as the matrices' files say
  MatrixMeasureOptions measure;
  RecallTriple recall = RecallTriple::k1To10;
  bool image_to_text_first = true;
  std::vector<const PaperLayout*> layouts;  // empty: ours
  std::map<std::string, double> seconds;    // a query, by the name of a matrix or an ensemble
};

// InvalidArgument says what is wrong with which flag.
absl::StatusOr<TablesPlan> PlanTables(const TablesFlags& flags);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_FLAGS_H_
