#include "common/evaluation/evaluation_store.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/declared_combinations.h"
#include "common/bundle/rerankers.h"
#include "common/models/model_cache.h"

namespace sightline {
namespace {

absl::Status CheckKind(const StoredIndex& index, bundle::v1::ItemKind kind,
                       absl::string_view what) {
  if (index.manifest().item_kind() == kind) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(index.Name(), " holds no ", what));
}

// Models by what they compute in.
class Models {
 public:
  Models(const EvaluationStoreOptions& options, ComputePool* pool)
      : store_(options.store), deterministic_(options.deterministic), pool_(pool) {}

  ModelCache& In(const std::string& precision) {
    auto& cache = caches_[precision];
    if (cache == nullptr) {
      ModelOptions models;
      models.pool = pool_;
      models.deterministic = deterministic_;
      ModelCacheOptions options{store_, models};
      // As asked, however far that is from float32: how far is what is measured.
      options.precision.policy = {precision, /*least_agreement=*/0};
      cache = std::make_unique<ModelCache>(options);
    }
    return *cache;
  }

 private:
  const std::string store_;
  const bool deterministic_;
  ComputePool* const pool_;
  std::map<std::string, std::unique_ptr<ModelCache>> caches_;
};

absl::StatusOr<EvaluationStore::Reranker> LoadReranker(Direction direction,
                                                       const StoredIndex& index,
                                                       const std::string& name,
                                                       ModelCache* models) {
  EvaluationStore::Reranker reranker;
  const std::vector<NamedReranker> known = RerankersOf(index.manifest());
  ASSIGN_OR_RETURN(const NamedReranker* const named,
                   Within(index.Name(), FindReranker(known, name)));
  if (named == nullptr) return reranker;
  reranker.name = named->name;
  const std::string& id = named->model;
  ASSIGN_OR_RETURN(reranker.model, models->Get(id));
  if (reranker.model->cross_encoder() == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", id, ", which reranks ", index.Name(), ", has no cross-encoder"));
  }
  const auto loaded = models->Loaded();
  ASSIGN_OR_RETURN(const DeclaredCombinations declared,
                   ReadCombinations(loaded.at(id).manifest.cross_encoder()));
  reranker.declared =
      direction == Direction::kTextToImage ? declared.text_to_image : declared.image_to_text;
  return reranker;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EvaluationStore>> EvaluationStore::Open(
    const EvaluationStoreOptions& options, ComputePool* pool, const CallContext& call) {
  auto store = absl::WrapUnique(new EvaluationStore);
  ASSIGN_OR_RETURN(store->images_,
                   StoredIndex::Open(options.store, options.images_index, pool, call));
  ASSIGN_OR_RETURN(store->captions_,
                   StoredIndex::Open(options.store, options.captions_index, pool, call));
  RETURN_IF_ERROR(store->CheckPair());
  RETURN_IF_ERROR(store->LoadModels(options, pool));
  RETURN_IF_ERROR(store->ReadCaptions(options));
  return store;
}

absl::Status EvaluationStore::CheckPair() const {
  RETURN_IF_ERROR(CheckKind(*images_, bundle::v1::IMAGE, "pictures"));
  RETURN_IF_ERROR(CheckKind(*captions_, bundle::v1::CAPTION, "captions"));
  const std::string& space = images_->manifest().embedding().space();
  if (space == captions_->manifest().embedding().space()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(images_->Name(), " and ", captions_->Name(),
                   " are of different embedding spaces; encode both with one model"));
}

absl::Status EvaluationStore::LoadModels(const EvaluationStoreOptions& options, ComputePool* pool) {
  Models models(options, pool);
  const std::string& encoder = images_->manifest().encoder_model();
  ASSIGN_OR_RETURN(encoder_, models.In(options.precisions.encoder).Get(encoder));
  if (encoder_->text_encoder() == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", encoder, " of ", images_->Name(), " cannot encode texts"));
  }
  if (encoder_->space() != images_->manifest().embedding().space()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "model ", encoder, " writes to another embedding space than that of ", images_->Name()));
  }
  ASSIGN_OR_RETURN(image_reranker_,
                   LoadReranker(Direction::kTextToImage, *images_, options.reranker,
                                &models.In(options.precisions.image_reranker)));
  ASSIGN_OR_RETURN(caption_reranker_,
                   LoadReranker(Direction::kImageToText, *captions_, options.reranker,
                                &models.In(options.precisions.caption_reranker)));
  return absl::OkStatus();
}

absl::Status EvaluationStore::ReadCaptions(const EvaluationStoreOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<ItemRecord> captions, captions_->Records());
  ASSIGN_OR_RETURN(relevance_, Relevance::Build(captions, options.language, options.rule));
  const std::vector<EvaluationQuery> queries = relevance_->Queries(Direction::kTextToImage);
  if (queries.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(captions_->Name(), " has no caption in language '", options.language, "'"));
  }
  for (const EvaluationQuery& query : queries) {
    if (images_->Find(query.item_id).has_value()) continue;
    return absl::FailedPreconditionError(absl::StrCat(captions_->Name(), " has captions of '",
                                                      query.item_id, "', which ", images_->Name(),
                                                      " lacks; both must be made of one corpus"));
  }
  return absl::OkStatus();
}

}  // namespace sightline
