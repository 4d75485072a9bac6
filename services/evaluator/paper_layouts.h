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
    kSpeedups,   // time of a query, and how many times faster than the first method's
    kSpreads,    // mean, least, most, 95 % and 99.99 % of the times of queries
  };

  absl::string_view name;
  absl::string_view paper;
  Rows rows;
  bool image_to_text_first = true;
  More more = More::kNothing;

  // Which have one table, whatever parts there are.
  bool of_languages() const { return rows == Rows::kLanguages || rows == Rows::kMetaAve; }
  bool of_times() const { return rows == Rows::kSpeedups || rows == Rows::kSpreads; }
};

// The layout of that name.  InvalidArgument, with all names, if there is none.
absl::StatusOr<const PaperLayout*> FindLayout(absl::string_view name);

// "lightningdot, ...", for people.
std::string LayoutNames();

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_PAPER_LAYOUTS_H_
