#include "services/corpus_encoder/region_trial.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/item_content.h"

namespace sightline {
namespace {

// A job in which so many items are refused by chance fails anyway: what may be bad is a share.
constexpr size_t kMostTrials = 8;

// InvalidArgument, naming the model, if one of them refuses `image`.
absl::Status TryImage(const CorpusModels& models, const ImageInput& image,
                      const CallContext& call) {
  const auto named = [](const Model& model, const absl::Status& status) {
    if (!absl::IsInvalidArgument(status)) return status;
    return absl::InvalidArgumentError(absl::StrCat("model ", model.id(), ": ", status.message()));
  };
  const absl::Span<const ImageInput> images = absl::MakeConstSpan(&image, 1);
  RETURN_IF_ERROR(
      named(*models.encoder, models.encoder->image_encoder()->Encode(images, call).status()));
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    const CrossEncoder& cross_encoder = *reranker.model->cross_encoder();
    RETURN_IF_ERROR(named(*reranker.model, cross_encoder.PrepareImages(images, call).status()));
  }
  return absl::OkStatus();
}

absl::Status TryCorpus(const CorpusModels& models, const std::vector<const ScannedPicture*>& items,
                       int64_t max_bytes, const CallContext& call) {
  const size_t trials = std::min(kMostTrials, items.size());
  std::string first_refusal;
  for (size_t i = 0; i < trials; ++i) {
    const ScannedPicture& item = *items[i * items.size() / trials];
    const absl::StatusOr<ItemContent> content = ReadContent(item, max_bytes);
    if (absl::IsInvalidArgument(content.status())) continue;
    RETURN_IF_ERROR(content.status());
    const absl::Status taken = TryImage(models, content->image, call);
    if (!absl::IsInvalidArgument(taken)) return taken;
    if (!first_refusal.empty()) continue;
    first_refusal =
        absl::StrCat(taken.message(), " (", item.item.item_id, " of ", item.item.path, ")");
  }
  if (first_refusal.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("none of ", trials, " items that were tried of ", items.size(),
                   " in a corpus is taken by the models: ", first_refusal));
}

}  // namespace

absl::Status TryRegions(const CorpusModels& models, absl::Span<const ScannedPicture> pictures,
                        int64_t max_bytes, const CallContext& call) {
  std::map<const CorpusReader*, std::vector<const ScannedPicture*>> corpora;
  for (const ScannedPicture& picture : pictures) {
    if (HasRegions(picture)) corpora[picture.reader].push_back(&picture);
  }
  for (const auto& [reader, items] : corpora) {
    RETURN_IF_ERROR(TryCorpus(models, items, max_bytes, call));
  }
  return absl::OkStatus();
}

}  // namespace sightline
