// The kinds of index that the common suite is run over, with parameters of each.
//
// A line a variant: a kind without one fails kinds_suite_test.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_KIND_CASES_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_KIND_CASES_H_

#include <vector>

namespace sightline {

struct KindCase {
  const char* name;  // for messages
  const char* spec;  // an IndexSpec as text; its numbers fit a shard of 2 000 rows of 32 numbers
  // Of an approximate kind: an effort, and the share of the ten best that it finds at least among
  // the suite's rows, whatever is filtered.
  int effort = 64;
  double recall = 1;
};

inline std::vector<KindCase> KindCases() {
  return {
      {"flat", "kind: 'flat'"},
      {"flat_int8", "kind: 'flat_int8'"},
      {"ivf rows", "kind: 'ivf' ivf { list_count: 40 code: 'rows' }", 10, 0.9},
      {"ivf int8", "kind: 'ivf' ivf { list_count: 40 code: 'int8' refine: 4 }", 10, 0.9},
      {"ivf pq4", "kind: 'ivf' ivf { list_count: 40 code: 'pq4' pq_parts: 16 refine: 20 }", 10,
       0.8},
      {"ivf rabitq", "kind: 'ivf' ivf { list_count: 40 code: 'rabitq' refine: 20 }", 10, 0.8},
      {"ivf rabitq along axes",
       "kind: 'ivf' ivf { list_count: 40 code: 'rabitq' pq_parts: 12 refine: 20 }", 10, 0.8},
      {"hnsw rows", "kind: 'hnsw' hnsw { link_count: 16 build_effort: 100 code: 'rows' }", 64, 0.9},
      {"hnsw int8", "kind: 'hnsw' hnsw { link_count: 16 build_effort: 100 code: 'int8' refine: 4 }",
       64, 0.9},
  };
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_KIND_CASES_H_
