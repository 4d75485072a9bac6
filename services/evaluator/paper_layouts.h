// How papers print their tables.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_PAPER_LAYOUTS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_PAPER_LAYOUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct PaperLayout {
  // What stands behind R@K of both directions.
  enum class More {
    kNothing,
    kAverage,     // AR
    kSum,         // rsum
    kReciprocal,  // MRR, in each direction
  };
  enum class Rows {
    kRecalls,    // R@K as a/b/c, a table for each part
    kLanguages,  // AR (mR) by language, their mean, and the mean without English
    kMetaAve,    // AR by language, and Meta-Ave
  };

  absl::string_view name;
  absl::string_view paper;
  Rows rows;
  bool image_to_text_first = true;
  More more = More::kNothing;
};

// The layout of that name.  InvalidArgument, with all names, if there is none.
absl::StatusOr<const PaperLayout*> FindLayout(absl::string_view name);

// "lightningdot, ...", for people.
std::string LayoutNames();

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_PAPER_LAYOUTS_H_
