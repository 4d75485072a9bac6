#include "services/corpus_encoder/corpus_checks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

absl::Status CheckModelReads(const Model& model, const CorpusReader& corpus) {
  const int width = corpus.region_feature_size();
  if (width == 0) {
    if (model.region_extractor() != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "model ", model.id(), " has no region extractor: it reads regions that a detector has ",
        "found, not pictures; give it a corpus of kind regions, npz or precomp"));
  }
  const std::vector<int> sizes = model.region_feature_sizes();
  if (std::find(sizes.begin(), sizes.end(), width) != sizes.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the corpus has region features of ", width, " numbers; model ", model.id(), " reads ",
      sizes.empty() ? "pictures only" : absl::StrCat("those of ", absl::StrJoin(sizes, " or "))));
}

}  // namespace

bool AnyHasRegions(absl::Span<const std::unique_ptr<CorpusReader>> corpora) {
  return std::any_of(corpora.begin(), corpora.end(),
                     [](const auto& corpus) { return corpus->region_feature_size() > 0; });
}

absl::Status CheckModelReads(const Model& model,
                             absl::Span<const std::unique_ptr<CorpusReader>> corpora) {
  for (const std::unique_ptr<CorpusReader>& corpus : corpora) {
    if (absl::Status fits = CheckModelReads(model, *corpus); !fits.ok()) return fits;
  }
  return absl::OkStatus();
}

std::vector<CorpusProblem> FindDuplicates(absl::Span<const ScannedPicture> pictures) {
  std::map<absl::string_view, const ScannedPicture*> first;
  std::vector<CorpusProblem> warnings;
  for (const ScannedPicture& picture : pictures) {
    const auto [found, is_new] = first.emplace(picture.sha256, &picture);
    if (is_new) continue;
    warnings.push_back({picture.item.item_id, picture.item.path,
                        absl::StrCat("the same picture as ", found->second->item.item_id)});
  }
  return warnings;
}

void CollapseCheck::Add(absl::string_view content, absl::Span<const float> embedding) {
  constexpr float kRounding = 1e-5f;
  if (!all_equal_) return;
  if (first_.empty()) {
    first_.assign(embedding.begin(), embedding.end());
    float largest = 0;
    for (const float number : embedding) largest = std::max(largest, std::abs(number));
    tolerance_ = kRounding * largest;
  }
  // Duplicates by chance elsewhere only make the check a little stricter.
  if (content != last_content_) ++count_;
  last_content_ = std::string(content);
  for (size_t i = 0; i < embedding.size(); ++i) {
    if (std::abs(embedding[i] - first_[i]) > tolerance_) all_equal_ = false;
  }
}

absl::Status CollapseCheck::Check(absl::string_view what) const {
  if (!all_equal_ || count_ < kFewest) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("all ", count_, " ", what,
                   " have the same embedding: the model has collapsed, its vocabulary is another "
                   "one's, or its weights do not fit this program; nothing was written"));
}

}  // namespace sightline
