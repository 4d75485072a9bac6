// Which families check_golden can compute, and how: each is a function that builds the
// family's production model from a golden folder and compares what it computes, and, if the
// family reranks, another that does so with item features as a server finds them in its store.
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/models/execution.h"
#include "tests/parity/golden_case.h"
#include "tests/parity/golden_model.h"

namespace sightline {

// The model that retrieves or ranks with the inputs of its case, of any family.
absl::StatusOr<GoldenSubject> OpenGolden(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenLightningDot(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenM3p(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenOscar(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenSceneText(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenSgraf(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenUniter(const GoldenCase& golden);
absl::StatusOr<GoldenSubject> OpenVlDeformer(const GoldenCase& golden);

// In the precision of the case's execution.  What each folder must expect is said in the goldens'
// own README.
absl::Status CompareLightningDot(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareM3p(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareOscar(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareSceneText(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareSgraf(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareUniter(const GoldenCase& golden, GoldenComparison* comparison);
absl::Status CompareVlDeformer(const GoldenCase& golden, GoldenComparison* comparison);

// Scores of image features that were stored, as `dtype`, and read again.  Logits where the
// head has them: a probability near 0 or 1 hides what became of them.
absl::Status CompareStoredM3p(const GoldenCase& golden, Dtype dtype, GoldenComparison* comparison);
absl::Status CompareStoredOscar(const GoldenCase& golden, Dtype dtype,
                                GoldenComparison* comparison);
absl::Status CompareStoredSgraf(const GoldenCase& golden, Dtype dtype,
                                GoldenComparison* comparison);
absl::Status CompareStoredUniter(const GoldenCase& golden, Dtype dtype,
                                 GoldenComparison* comparison);

enum class GoldenPath {
  kExact,    // the network
  kFloat16,  // scores as the reranker gives them, of features that are stored so
  kInt8,
};

// The whole program: compares the folder's case, computed as `execution` says, and ends `out` with
// `max_abs_error: X over N numbers`.  0 if N > 0 and X is within the bound of README.md; 1 if
// the model differs or something expected is missing or not finite; 2 if the folder cannot
// be read, is of an unknown family, or of one that stores nothing and scores were asked for.
int CheckGolden(absl::string_view directory, GoldenPath path, std::ostream& out,
                const Execution& execution = {});

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_FAMILIES_H_
