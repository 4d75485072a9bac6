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
    kRecalls,    // R@K as a/b/c
    kLanguages,  // AR (mR) by language, their mean, and the mean without English
    kMetaAve,    // AR by language, and Meta-Ave
    kSpeedups,   // time of a query, and how many times faster than the first method's
    kSpreads,    // mean, least, most, 95 % and 99.99 % of the times of queries
    kWaits,      // time of a query, and of all with encoding, in units that fit
  };

  absl::string_view name;
  absl::string_view paper;
  Rows rows;
  bool image_to_text_first = true;
  More more = More::kNothing;
  bool without_middle = false;  // of the three R@K the first and the last alone

  // A table for each part.
  bool of_parts() const { return rows == Rows::kRecalls || rows == Rows::kWaits; }
  // One table, with a column for each part's language.
  bool of_languages() const { return rows == Rows::kLanguages || rows == Rows::kMetaAve; }
  // One table, of the times of single queries, which are no part's.
  bool of_queries() const { return rows == Rows::kSpeedups || rows == Rows::kSpreads; }
};

// The layout of that name.  InvalidArgument, with all names, if there is none.
absl::StatusOr<const PaperLayout*> FindLayout(absl::string_view name);

// "lightningdot, ...", for people.
std::string LayoutNames();

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_PAPER_LAYOUTS_H_
