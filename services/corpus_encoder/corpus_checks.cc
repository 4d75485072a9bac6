#include "services/corpus_encoder/corpus_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

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

void CollapseCheck::Add(absl::string_view content, absl::Span<const float> embedding) {
  if (!all_equal_) return;
  // Duplicates by chance elsewhere only make the check a little stricter.
  if (content != last_content_) ++count_;
  last_content_ = std::string(content);
  Compare(embedding);
}

void CollapseCheck::Merge(const CollapseCheck& other) {
  count_ += other.count_;
  all_equal_ = all_equal_ && other.all_equal_;
  if (!other.first_.empty()) Compare(other.first_);
}

void CollapseCheck::Compare(absl::Span<const float> embedding) {
  constexpr float kRounding = 1e-5f;
  if (first_.empty()) first_.assign(embedding.begin(), embedding.end());
  float largest = 0;
  for (const float number : first_) largest = std::max(largest, std::abs(number));
  if (embedding.size() != first_.size()) all_equal_ = false;
  for (size_t i = 0; all_equal_ && i < embedding.size(); ++i) {
    if (std::abs(embedding[i] - first_[i]) > kRounding * largest) all_equal_ = false;
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
