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
  };
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_KIND_CASES_H_
