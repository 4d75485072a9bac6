// The recalls that a measurement is asked for on its command line.
#ifndef SIGHTLINE_LOADTEST_BENCH_RECALLS_H_
#define SIGHTLINE_LOADTEST_BENCH_RECALLS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sightline {

// Ascending; 0.90, 0.95 and 0.99 where none is given.  InvalidArgument for what is no recall.
inline absl::StatusOr<std::vector<double>> ReadRecalls(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::vector<double>{0.90, 0.95, 0.99};
  std::vector<double> recalls;
  for (const std::string& text : texts) {
    double recall = 0;
    if (!absl::SimpleAtod(text, &recall) || !(recall > 0 && recall <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--recall '", text, "' is not above 0 and at most 1"));
    }
    recalls.push_back(recall);
  }
  std::sort(recalls.begin(), recalls.end());
  return recalls;
}

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_RECALLS_H_
