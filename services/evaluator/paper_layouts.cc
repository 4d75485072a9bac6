#include "services/evaluator/paper_layouts.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

using More = PaperLayout::More;
using Rows = PaperLayout::Rows;

constexpr bool kTextsFirst = true, kImagesFirst = false;
constexpr bool kEnds = true;  // as R@1/10

constexpr PaperLayout kLayouts[] = {
    {"lightningdot", "LightningDOT, tables 1 and 2", Rows::kRecalls, kTextsFirst, More::kAverage},
    {"lightningdot_languages", "LightningDOT, table 6", Rows::kMetaAve},
    {"lightningdot_times", "LightningDOT, tables 3 and 7", Rows::kSpeedups},
    {"retrieve_fast", "Retrieve Fast, Rerank Smart, tables 1, 5, 8 and 9", Rows::kRecalls,
     kImagesFirst},
    {"retrieve_fast_times", "Retrieve Fast, Rerank Smart, tables 3 and 4", Rows::kWaits},
    {"multi30k", "Retrieve Fast, Rerank Smart, tables 2 and 7", Rows::kLanguages},
    {"scene_text", "Scene-text aware retrieval, tables 1 to 3", Rows::kRecalls, kImagesFirst},
    {"t_emde", "T-EMDE, table 2", Rows::kRecalls, kTextsFirst, More::kReciprocal},
    {"t_emde_5k", "T-EMDE, table 1, and 4 for each number of rows and columns", Rows::kRecalls,
     kTextsFirst, More::kReciprocal, kEnds},
    {"t_emde_times", "T-EMDE, table 3 but what training took", Rows::kWaits},
    {"sgraf", "SGRAF", Rows::kRecalls, kTextsFirst, More::kSum},
    {"vldeformer", "VLDeformer, tables 2 and 3", Rows::kRecalls, kTextsFirst},
    {"vldeformer_times", "VLDeformer, table 4 but memory", Rows::kSpreads},
};

}  // namespace

absl::StatusOr<const PaperLayout*> FindLayout(absl::string_view name) {
  for (const PaperLayout& layout : kLayouts) {
    if (layout.name == name) return &layout;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is none of ", LayoutNames()));
}

std::string LayoutNames() {
  std::string names;
  for (const PaperLayout& layout : kLayouts) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", layout.name);
  }
  return names;
}

}  // namespace sightline
