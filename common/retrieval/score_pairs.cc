// Retriever::ScorePairs: every text against every image, by both scores.
//
// Nothing here can be left out of the answer, so there is no degraded form of it: the
// first failure is the call's, and all stages share the whole of the time.
#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/api/precision.h"
#include "common/api/query.h"
#include "common/api/search.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/request_checks.h"
#include "common/retrieval/rerank_pace.h"
#include "common/retrieval/rerank_slices.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

using Pins = std::map<std::string, PinnedIndex>;

// How one side, the texts or the images, is to be had.
struct SidePlan {
  std::vector<EncodableQuery> queries;
  std::vector<size_t> query_positions;
  std::vector<FetchCall> fetches;
  std::vector<std::vector<size_t>> fetch_positions;  // one list for each fetch
  std::vector<std::vector<std::string>> fetch_ids;   // likewise
  size_t size = 0;
};

// One side with all that scoring needs.
struct Side {
  EmbeddingMatrix embeddings;  // one row for each element
  std::vector<RerankSide> elements;
  Precision precision;  // of those that were encoded; none if none was
};

// The index of an item, pinned once, and known to fit the target.
absl::StatusOr<const PinnedIndex*> PinItemIndex(const std::string& index, absl::string_view path,
                                                Modality wanted, const PinnedIndex& target,
                                                const Backends& backends,
                                                const GenerationCatalog& catalog, Pins& pins) {
  auto found = pins.find(index);
  if (found == pins.end()) {
    ASSIGN_OR_RETURN(PinnedIndex pinned, PinIndex(backends, catalog, index));
    found = pins.emplace(index, std::move(pinned)).first;
  }
  const GenerationInfo& info = *found->second.info;
  if (ModalityOf(info.content) != wanted) {
    return InvalidField(absl::StrCat(path, ".item.index"),
                        absl::StrCat("is '", index, "', which does not hold ",
                                     wanted == Modality::kText ? "captions" : "images",
                                     "; name the index in which the item is stored"));
  }
  RETURN_IF_ERROR(
      CheckSpace(absl::StrCat("index '", index, "' of an item"), info.ref.space, *target.info));
  return &found->second;
}

// Splits a side's elements into what to encode and what to fetch from which shard.
template <typename Element>
absl::StatusOr<SidePlan> PlanSide(absl::Span<const Element> elements, Modality wanted,
                                  const PinnedIndex& target, const Backends& backends,
                                  const GenerationCatalog& catalog, Pins& pins) {
  SidePlan plan;
  plan.size = elements.size();
  std::map<std::pair<std::string, int>, size_t> fetch_of;
  for (size_t i = 0; i < elements.size(); ++i) {
    const ItemQuery* const item = std::get_if<ItemQuery>(&elements[i]);
    if (item == nullptr) {
      std::visit(
          [&plan](const auto& element) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(element)>, ItemQuery>) {
              plan.queries.emplace_back(element);
            }
          },
          elements[i]);
      plan.query_positions.push_back(i);
      continue;
    }
    const std::string path = absl::StrCat(wanted == Modality::kText ? "texts[" : "images[", i, "]");
    const std::string& name = item->index.empty() ? target.ref().index : item->index;
    ASSIGN_OR_RETURN(const PinnedIndex* index,
                     PinItemIndex(name, path, wanted, target, backends, catalog, pins));
    const int shard = ShardOf(item->item_id, index->info->shard_count);
    const auto [fetch, added] = fetch_of.emplace(std::make_pair(name, shard), plan.fetches.size());
    if (added) {
      FetchCall call;
      call.client = index->shard(shard);
      call.request.target = index->ref();
      call.request.shard = shard;
      call.request.want_embeddings = true;
      plan.fetches.push_back(std::move(call));
      plan.fetch_positions.emplace_back();
      plan.fetch_ids.emplace_back();
    }
    plan.fetches[fetch->second].request.item_ids.push_back(item->item_id);
    plan.fetch_ids[fetch->second].push_back(item->item_id);
    plan.fetch_positions[fetch->second].push_back(i);
  }
  return plan;
}

// One side's calls, under way from construction.
class SideCalls {
 public:
  // `name` is the field of the request; `reranker` as EncodeRequest names it.
  SideCalls(const char* name, SidePlan plan, const std::string& reranker,
            const GenerationInfo& target, QueryEncoderClient* encoder, const PrecisionWish& wish,
            const CallContext& call)
      : name_(name),
        target_(target),
        targets_(Targets(plan)),
        encoding_(encoder, target, plan.queries, reranker, wish, call, call.deadline()),
        fetching_(std::move(plan.fetches), call, call.deadline()),
        plan_(std::move(plan)) {}

  absl::StatusOr<Side> Wait() {
    Side side;
    side.embeddings = EmbeddingMatrix(static_cast<int64_t>(plan_.size), target_.dimension);
    side.elements.resize(plan_.size);
    RETURN_IF_ERROR(TakeEncoded(side));
    RETURN_IF_ERROR(TakeFetched(side));
    return side;
  }

 private:
  static std::vector<GenerationRef> Targets(const SidePlan& plan) {
    std::vector<GenerationRef> targets;
    for (const FetchCall& fetch : plan.fetches) targets.push_back(fetch.request.target);
    return targets;
  }

  absl::Status TakeEncoded(Side& side) {
    ASSIGN_OR_RETURN(EncodeResponse response, encoding_.Wait());
    if (!plan_.queries.empty()) side.precision = std::move(response.precision);
    for (size_t i = 0; i < plan_.query_positions.size(); ++i) {
      const size_t position = plan_.query_positions[i];
      const auto row = response.embeddings.row(static_cast<int64_t>(i));
      std::copy(row.begin(), row.end(), side.embeddings.mutable_row(position).begin());
      side.elements[position] = SideOf(plan_.queries[i], std::move(response.features[i]));
    }
    return absl::OkStatus();
  }

  absl::Status TakeFetched(Side& side) {
    auto answers = fetching_.Wait();
    for (size_t fetch = 0; fetch < answers.size(); ++fetch) {
      RETURN_IF_ERROR(answers[fetch].status());
      for (size_t i = 0; i < plan_.fetch_positions[fetch].size(); ++i) {
        const absl::optional<StoredItem>& item = answers[fetch]->items[i];
        const size_t position = plan_.fetch_positions[fetch][i];
        RETURN_IF_ERROR(CheckItem(item, position, plan_.fetch_ids[fetch][i], targets_[fetch]));
        std::copy(item->embedding.begin(), item->embedding.end(),
                  side.embeddings.mutable_row(position).begin());
        side.elements[position] = StoredRef{targets_[fetch], item->shard, item->row};
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckItem(const absl::optional<StoredItem>& item, size_t position,
                         const std::string& item_id, const GenerationRef& from) const {
    if (!item.has_value()) {
      return WithPrefix(ItemNotFound(from, item_id), absl::StrCat(name_, "[", position, "]"));
    }
    if (item->embedding.size() != static_cast<size_t>(target_.dimension) ||
        !AllFinite(item->embedding)) {
      return absl::InternalError(absl::StrCat("index '", from.index, "': the embedding of '",
                                              item->item_id, "' has ", item->embedding.size(),
                                              " numbers, or bad ones"));
    }
    return absl::OkStatus();
  }

  const char* const name_;
  const GenerationInfo& target_;
  const std::vector<GenerationRef> targets_;  // of each fetch
  Encoding encoding_;
  Fetching fetching_;
  const SidePlan plan_;
};

// Inner product, in double so that its error does not depend on the order of addition.
float InnerProduct(absl::Span<const float> a, absl::Span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return static_cast<float>(sum);
}

// The two sides are encoded in one precision; where there is one alone, in any.
PrecisionWish EncoderWish(const SidePlan& texts, const SidePlan& images, const PinnedIndex& target,
                          QueryEncoderClient* encoder, absl::Time now) {
  PrecisionWish wish;
  if (encoder == nullptr || texts.queries.empty() || images.queries.empty()) return wish;
  wish.precision = encoder->ChoosePrecision(target.ref(), target.info->encoder_model, now);
  return wish;
}

// To the caller it is as if these servers were down: he did not ask for a precision.
absl::Status AsGone(const absl::Status& status) {
  if (!HasReason(status, reasons::kPrecisionChanged)) return status;
  return absl::UnavailableError(status.message());
}

// Fills in the cross-encoder's scores.  The shorter side plays the query, so that a long
// list makes full slices and uploaded features travel as seldom as possible.
absl::Status Rerank(const Side& texts, const Side& images, const std::string& name,
                    RerankerClient& reranker, PrecisionWish wish, const RetrieverOptions& options,
                    const CallContext& call, RerankShare share, ScorePairsResult& result) {
  const bool query_is_text = texts.elements.size() <= images.elements.size();
  const auto& queries = query_is_text ? texts.elements : images.elements;
  const auto& candidates = query_is_text ? images.elements : texts.elements;
  const size_t slice_size = options.rerank_slice;
  const size_t slices_each = (candidates.size() + slice_size - 1) / slice_size;
  const auto make = [&](int slice) {
    RerankRequest request;
    request.target = result.target;
    request.query_is_text = query_is_text;
    request.query = queries[slice / slices_each];
    request.reranker = name;
    const size_t begin = slice % slices_each * slice_size;
    const size_t end = std::min(begin + slice_size, candidates.size());
    request.candidates.assign(candidates.begin() + begin, candidates.begin() + end);
    return request;
  };
  const int slice_count = static_cast<int>(queries.size() * slices_each);
  const std::vector<SliceResult> slices =
      RerankSlices(reranker, slice_count, options.rerank_parallelism, make, std::move(wish), call,
                   call.deadline(), std::move(share));

  for (const SliceResult& slice : slices) {
    // What was sent says more than what was not.
    if (slice.end == SliceEnd::kFailed) return slice.status;
  }
  for (int slice = 0; slice < slice_count; ++slice) {
    if (slices[slice].end != SliceEnd::kScored) return slices[slice].status;
    const RerankResponse& response = slices[slice].response;
    if (slice > 0 && response.score_kind != result.score_kind) {
      return absl::InternalError("reranker: answered two kinds of score in one call");
    }
    result.score_kind = response.score_kind;
    const size_t query = slice / slices_each;
    const size_t begin = slice % slices_each * slice_size;
    for (size_t i = 0; i < response.scores.size(); ++i) {
      const size_t text = query_is_text ? query : begin + i;
      const size_t image = query_is_text ? begin + i : query;
      PairScore& score = result.scores[text * images.elements.size() + image];
      score.raw_score = response.scores[i];
      score.rerank_score = ToProbability(response.score_kind, response.scores[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScorePairsResult> Retriever::ScorePairs(const ScorePairsRequest& request,
                                                       const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("score pairs"));
  RETURN_IF_ERROR(CheckScorePairsRequest(request, options_));
  ASSIGN_OR_RETURN(const std::string name, ChooseIndex(*catalog_, request.index, Modality::kText));
  ASSIGN_OR_RETURN(const PinnedIndex target, PinIndex(*backends_, *catalog_, name));
  ASSIGN_OR_RETURN(const RerankerInfo* const reranker,
                   FindReranker(target.info->rerankers, request.reranker));
  if (reranker == nullptr) {
    return MakeError(reasons::kNoCrossEncoder,
                     absl::StrCat("generation '", target.ref().generation, "' of index '", name,
                                  "' has no cross-encoder to score pairs with; name another index"),
                     {{"index", name}});
  }
  if (backends_->reranker == nullptr) {
    return absl::UnavailableError("reranker: none is configured");
  }
  Pins pins{{name, target}};
  ASSIGN_OR_RETURN(SidePlan text_plan, PlanSide<PairText>(request.texts, Modality::kText, target,
                                                          *backends_, *catalog_, pins));
  ASSIGN_OR_RETURN(SidePlan image_plan, PlanSide<PairImage>(request.images, Modality::kImage,
                                                            target, *backends_, *catalog_, pins));

  const CallContext work =
      call.WithDeadline(budget_->Split(call.clock()->Now(), call.deadline(), {}).answer);
  QueryEncoderClient* const encoder = backends_->encoder.get();
  const absl::Time now = call.clock()->Now();
  const PrecisionWish encoder_wish = EncoderWish(text_plan, image_plan, target, encoder, now);
  SideCalls text_calls("texts", std::move(text_plan), request.reranker, *target.info, encoder,
                       encoder_wish, work);
  SideCalls image_calls("images", std::move(image_plan), request.reranker, *target.info, encoder,
                        encoder_wish, work);
  absl::StatusOr<Side> texts = text_calls.Wait();
  absl::StatusOr<Side> images = image_calls.Wait();
  if (call.cancelled()) return call.Check("score pairs");
  RETURN_IF_ERROR(AsGone(texts.status()));
  RETURN_IF_ERROR(AsGone(images.status()));
  if (texts->precision.has_value() && images->precision.has_value() &&
      texts->precision != images->precision) {
    return absl::UnavailableError(absl::StrCat("query encoder: answered in '", *texts->precision,
                                               "' and in '", *images->precision, "'"));
  }

  ScorePairsResult result;
  result.target = target.ref();
  result.reranker = reranker->name;
  result.scores.resize(request.texts.size() * request.images.size());
  for (size_t text = 0; text < request.texts.size(); ++text) {
    for (size_t image = 0; image < request.images.size(); ++image) {
      result.scores[text * request.images.size() + image].retrieval_score =
          InnerProduct(texts->embeddings.row(text), images->embeddings.row(image));
    }
  }
  PrecisionWish wish;
  wish.model = reranker->model;
  wish.precision = backends_->reranker->ChoosePrecision(target.ref(), wish.model, now);
  const std::string pace = absl::StrCat(wish.model, " ", wish.precision.value_or(""));
  RerankShare share = paces_->Of(pace)->TakeAll(static_cast<int>(result.scores.size()));
  const absl::Status reranked = Rerank(*texts, *images, request.reranker, *backends_->reranker,
                                       std::move(wish), options_, work, std::move(share), result);
  if (call.cancelled()) return call.Check("score pairs");
  RETURN_IF_ERROR(AsGone(reranked));
  return result;
}

}  // namespace sightline
