#include "services/sightlinectl/precision_bound.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/models/precision/agreement.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionAgreement;
using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;
using Reports = absl::Span<const PrecisionReport>;

constexpr ModelPart kParts[] = {ModelPart::kPairs, ModelPart::kTexts};

const PrecisionScores* ScoresAt(Reports reports, PrecisionOnCpu at, ModelPart part) {
  return ScoresOf(reports[at.report].results(at.result), part);
}

// Text by text, of those that both have.
void Measure(const PrecisionScores& a, const PrecisionScores& b, int item_count,
             PrecisionDistance* distance) {
  const int texts = std::min(a.scores_size(), b.scores_size()) / item_count;
  const auto scores_of = [item_count](const PrecisionScores& scores, int text) {
    return absl::MakeConstSpan(scores.scores())
        .subspan(static_cast<size_t>(text) * item_count, item_count);
  };
  double overlap = 0, kendall = 0, least = 1;
  for (int text = 0; text < texts; ++text) {
    const PrecisionAgreement of_text =
        Compare(scores_of(a, text), scores_of(b, text), item_count, {{}});
    overlap += of_text.top10_overlap();
    kendall += of_text.kendall();
    least = std::min(least, of_text.top10_overlap());
    distance->greatest_difference =
        std::max(distance->greatest_difference, of_text.greatest_difference());
  }
  distance->top10_overlap = overlap / texts;
  distance->kendall = kendall / texts;
  distance->least_top10_overlap = least;
}

// Over float32.  Items of its ten best that a has, and those that b has, are at least this many in
// common; pairs of items that a and b order differently are ordered differently from float32 by one
// of the two.
void Estimate(const PrecisionAgreement& a, const PrecisionAgreement& b,
              PrecisionDistance* distance) {
  distance->greatest_difference = a.greatest_difference() + b.greatest_difference();
  distance->top10_overlap = std::max(0.0, a.top10_overlap() + b.top10_overlap() - 1);
  distance->kendall = std::max(-1.0, a.kendall() + b.kendall() - 1);
}

PrecisionDistance DistanceBetween(Reports reports, ModelPart part, PrecisionOnCpu a,
                                  PrecisionOnCpu b) {
  PrecisionDistance distance;
  distance.part = part;
  distance.a = a;
  distance.b = b;
  const PrecisionReport& of_a = reports[a.report];
  const PrecisionReport& of_b = reports[b.report];
  const PrecisionScores& scores_a = *ScoresAt(reports, a, part);
  const PrecisionScores& scores_b = *ScoresAt(reports, b, part);
  if (of_a.probes() == of_b.probes() && of_a.item_count() == of_b.item_count()) {
    Measure(scores_a, scores_b, of_a.item_count(), &distance);
  } else {
    Estimate(scores_a.agreement(), scores_b.agreement(), &distance);
  }
  return distance;
}

void TakeWorst(ModelPart part, int report, const PrecisionResult& result,
               std::vector<WorstAgreement>* worst) {
  const PrecisionAgreement& agreement = ScoresOf(result, part)->agreement();
  auto entry = std::find_if(worst->begin(), worst->end(), [&](const WorstAgreement& known) {
    return known.part == part && known.precision == result.precision();
  });
  if (entry == worst->end()) {
    entry = worst->insert(worst->end(), WorstAgreement{part, result.precision(), 1, 1, 0, report});
  }
  if (agreement.top10_overlap() < entry->top10_overlap) {
    entry->top10_overlap = agreement.top10_overlap();
    entry->report = report;
  }
  entry->kendall = std::min(entry->kendall, agreement.kendall());
  entry->greatest_difference =
      std::max(entry->greatest_difference, agreement.greatest_difference());
}

std::string NameOf(const PrecisionReport& report) {
  return absl::CHexEscape(absl::StrCat("model ", report.model(), ", program ", report.program()));
}

absl::Status CheckAlike(Reports reports) {
  for (const PrecisionReport& report : reports) {
    const PrecisionReport& first = reports[0];
    if (report.model() == first.model() && report.program() == first.program()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("reports are of ", NameOf(first), " and of ", NameOf(report),
                     "; only those of one model and program can be compared"));
  }
  return absl::OkStatus();
}

}  // namespace

const char* PartName(ModelPart part) {
  return part == ModelPart::kPairs ? "pairs" : "texts";
}

const PrecisionScores* ScoresOf(const PrecisionResult& result, ModelPart part) {
  if (part == ModelPart::kPairs) return result.has_pairs() ? &result.pairs() : nullptr;
  return result.has_texts() ? &result.texts() : nullptr;
}

absl::StatusOr<PrecisionBound> BoundBetween(Reports reports) {
  if (const absl::Status alike = CheckAlike(reports); !alike.ok()) return alike;
  PrecisionBound bound;
  for (const ModelPart part : kParts) {
    std::vector<PrecisionOnCpu> seen;
    for (int r = 0; r < static_cast<int>(reports.size()); ++r) {
      for (int k = 0; k < reports[r].results_size(); ++k) {
        const PrecisionOnCpu here{r, k};
        if (ScoresAt(reports, here, part) == nullptr) continue;
        TakeWorst(part, r, reports[r].results(k), &bound.worst);
        for (const PrecisionOnCpu& other : seen) {
          bound.distances.push_back(DistanceBetween(reports, part, other, here));
        }
        seen.push_back(here);
      }
    }
  }
  return bound;
}

}  // namespace sightline
