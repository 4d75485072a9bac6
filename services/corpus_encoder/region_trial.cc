#include "services/corpus_encoder/region_trial.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/inputs/stored_features.h"
#include "services/corpus_encoder/item_content.h"

namespace sightline {
namespace {

// A job in which so many items are refused by chance fails anyway: what may be bad is a share.
constexpr int64_t kMostTrials = 8;

// InvalidArgument, naming the model, if one of them refuses `image`: which one EncodePictures would
// not say.
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
    auto prepared = cross_encoder.PrepareImages(images, call);
    RETURN_IF_ERROR(named(*reranker.model, prepared.status()));
    RETURN_IF_ERROR(
        named(*reranker.model, StoredAs(models.feature_dtype, std::move((*prepared)[0])).status()));
  }
  return absl::OkStatus();
}

// One corpus's trials so far.
struct Trials {
  int64_t size = 0;  // its items
  int64_t seen = 0;
  int tried = 0;
  bool taken = false;
  std::string first_refusal;
};

absl::Status Try(const CorpusModels& models, const ScannedPicture& item, int64_t max_bytes,
                 const CallContext& call, Trials& trials) {
  ++trials.tried;
  const absl::StatusOr<ItemContent> content = ReadContent(item, max_bytes);
  if (absl::IsInvalidArgument(content.status())) return absl::OkStatus();
  RETURN_IF_ERROR(content.status());
  const absl::Status taken = TryImage(models, content->image, call);
  trials.taken = taken.ok();
  if (!absl::IsInvalidArgument(taken)) return taken;
  if (trials.first_refusal.empty()) {
    trials.first_refusal =
        absl::StrCat(taken.message(), " (", item.item.item_id, " of ", item.item.path, ")");
  }
  return absl::OkStatus();
}

// Shows every item that has regions.
absl::Status ForEachWithRegions(const PictureSpool& pictures,
                                const std::function<absl::Status(const ScannedPicture&)>& visit) {
  PictureSpool::Reader reader(pictures);
  for (;;) {
    ScannedPicture picture;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
    if (!more) return absl::OkStatus();
    if (HasRegions(picture)) RETURN_IF_ERROR(visit(picture));
  }
}

}  // namespace

absl::Status TryRegions(const CorpusModels& models, const PictureSpool& pictures, int64_t max_bytes,
                        const CallContext& call) {
  std::map<const CorpusReader*, Trials> corpora;
  RETURN_IF_ERROR(ForEachWithRegions(pictures, [&](const ScannedPicture& picture) {
    ++corpora[picture.reader].size;
    return absl::OkStatus();
  }));
  if (corpora.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(ForEachWithRegions(pictures, [&](const ScannedPicture& picture) {
    Trials& trials = corpora[picture.reader];
    const int64_t count = std::min(kMostTrials, trials.size);
    const bool next = trials.tried < count && trials.seen == trials.tried * trials.size / count;
    ++trials.seen;
    return next && !trials.taken ? Try(models, picture, max_bytes, call, trials) : absl::OkStatus();
  }));
  for (const auto& [reader, trials] : corpora) {
    if (trials.taken || trials.first_refusal.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("none of ", trials.tried, " items that were tried of ", trials.size,
                     " in a corpus is taken by the models: ", trials.first_refusal));
  }
  return absl::OkStatus();
}

}  // namespace sightline
