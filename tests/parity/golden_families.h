// Which families check_golden can compute, and how: each is one function that builds the
// family's production model from a golden folder and compares what it computes.
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/parity/golden_case.h"

namespace sightline {

// What each folder must expect is said in the goldens' own README.
absl::Status CompareLightningDot(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareM3p(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareOscar(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareSceneText(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareSgraf(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareUniter(const GoldenCase& golden, Comparison* comparison);
absl::Status CompareVlDeformer(const GoldenCase& golden, Comparison* comparison);

// The whole program: compares the folder's case and ends `out` with
// `max_abs_error: X over N numbers`.  0 if N > 0 and X <= 1e-4; 1 if the model differs or
// something expected is missing or not finite; 2 if the folder cannot be read or is of an
// unknown family.
int CheckGolden(absl::string_view directory, std::ostream& out);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_
