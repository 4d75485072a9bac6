#include "tests/common/retrieval/world.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/bundle/rerankers.h"

namespace sightline {
namespace {

uint32_t Fingerprint(absl::string_view name) {  // FNV-1a
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

std::vector<StoredItem> MakeItems(absl::string_view prefix, int count,
                                  const WorldOptions& options) {
  std::vector<StoredItem> items;
  for (int i = 0; i < count; ++i) {
    StoredItem item;
    item.item_id = absl::StrCat(prefix, "-", i);
    item.caption = absl::StrCat("caption of ", item.item_id);
    item.uri = absl::StrCat("file:", item.item_id);
    item.tags = options.tags(i);
    item.embedding = EmbeddingOf(item.item_id);
    items.push_back(std::move(item));
  }
  return items;
}

GenerationInfo MakeInfo(absl::string_view index, IndexContent content, int shards) {
  GenerationInfo info;
  info.ref = {std::string(index), "generation-7", kSpace};
  info.content = content;
  info.dimension = kDimension;
  info.shard_count = shards;
  info.encoder_model = "encoder-1";
  info.rerankers = {{kDefaultReranker, kCrossEncoder, {}},
                    {kOtherReranker, "cross-encoder-2", {CombinationKind::kAddLambda, 0.5f}}};
  return info;
}

std::string NameOfQuery(const EncodableQuery& query) {
  if (const auto* text = std::get_if<TextQuery>(&query)) return text->text;
  if (const auto* image = std::get_if<ImageQuery>(&query)) return *image->bytes;
  return std::get<RegionsQuery>(query).image->tags.front();
}

ItemFeatures FeaturesOf(const EncodableQuery& query) {
  FeatureTensor tensor;
  tensor.name = "name";
  tensor.bytes = NameOfQuery(query);
  return ItemFeatures{{tensor}};
}

}  // namespace

std::vector<float> EmbeddingOf(absl::string_view name) {
  std::mt19937 random(Fingerprint(name));
  std::vector<float> values(kDimension);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return values;
}

float MatchOf(absl::string_view text, absl::string_view image) {
  std::mt19937 random(Fingerprint(absl::StrCat(text, "|", image)));
  return static_cast<float>(random() % 10001) / 10000.0f;
}

World::World(const WorldOptions& options)
    : pictures(MakeInfo("pictures", IndexContent::kImages, options.shards),
               MakeItems("image", options.images, options)),
      words(MakeInfo("words", IndexContent::kCaptions, options.shards),
            MakeItems("caption", options.captions, options)),
      encoder(std::make_shared<FakeEncoder>(
          [](const EncodableQuery& query) { return EmbeddingOf(NameOfQuery(query)); }, FeaturesOf)),
      caches(options.caches, &metrics),
      retriever(&backends, &catalog, &budget, options.retriever, &caches) {
  // The text's name always comes first, whichever side is the query.
  reranker = std::make_shared<FakeReranker>(
      [this](const RerankSide& query, const RerankSide& candidate) {
        std::string text = NameOf(query);
        std::string image = NameOf(candidate);
        if (text.rfind("image", 0) == 0) std::swap(text, image);
        return MatchOf(text, image);
      },
      options.score_kind);
  catalog.Set(pictures.info());
  catalog.Set(words.info());
  backends.encoder = encoder;
  backends.reranker = reranker;
  backends.shards = {{"pictures", pictures.clients()}, {"words", words.clients()}};
}

std::string World::NameOf(const RerankSide& side) const {
  if (const auto* text = std::get_if<TextQuery>(&side)) return text->text;
  if (const auto* features = std::get_if<Shared<ItemFeatures>>(&side)) {
    return (*features)->tensors[0].bytes;
  }
  const StoredRef& stored = std::get<StoredRef>(side);
  return (stored.target.index == "words" ? words : pictures).item(stored).item_id;
}

std::vector<Candidate> RankAll(const FakeIndex& index, absl::string_view query,
                               absl::string_view left_out, const TagFilter& filter) {
  const std::vector<float> embedding = EmbeddingOf(query);
  std::vector<Candidate> all;
  for (const StoredItem& item : index.items()) {
    if (item.item_id == left_out || !Passes(filter, item.tags)) continue;
    float score = 0;
    for (int i = 0; i < kDimension; ++i) score += embedding[i] * item.embedding[i];
    all.push_back({item.item_id, item.shard, item.row, score});
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.item_id < b.item_id;
  });
  return all;
}

std::vector<std::string> Referee(const FakeIndex& index, absl::string_view query, int top_k,
                                 int depth, const Combination& combination,
                                 const TagFilter& filter) {
  std::vector<Candidate> all = RankAll(index, query, "", filter);
  depth = std::min<int>(depth, all.size());
  const bool query_is_text = index.info()->content == IndexContent::kImages;
  std::vector<double> e, c;
  for (int i = 0; i < depth; ++i) {
    e.push_back(all[i].score);
    c.push_back(query_is_text ? MatchOf(query, all[i].item_id) : MatchOf(all[i].item_id, query));
  }
  if (combination.kind == CombinationKind::kNormAddLambda && depth > 0) {
    for (std::vector<double>* scores : {&e, &c}) {
      const double least = *std::min_element(scores->begin(), scores->end());
      const double most = *std::max_element(scores->begin(), scores->end());
      for (double& score : *scores) score = most > least ? (score - least) / (most - least) : 0;
    }
  }
  const double lambda = combination.kind == CombinationKind::kReplace ? 0 : combination.lambda;
  std::vector<std::pair<double, std::string>> block;
  for (int i = 0; i < depth; ++i) {
    block.emplace_back(-(lambda * e[i] + (1 - lambda) * c[i]), all[i].item_id);
  }
  std::sort(block.begin(), block.end());
  std::vector<std::string> ids;
  for (const auto& [score, item_id] : block) ids.push_back(item_id);
  for (size_t i = depth; i < all.size(); ++i) ids.push_back(all[i].item_id);
  if (ids.size() > static_cast<size_t>(top_k)) ids.resize(top_k);
  return ids;
}

std::vector<std::string> Ids(const std::vector<Hit>& hits) {
  std::vector<std::string> ids;
  for (const Hit& hit : hits) ids.push_back(hit.item_id);
  return ids;
}

bool Has(const SearchResult& result, DegradedReason reason) {
  return std::count(result.degraded.begin(), result.degraded.end(), reason) == 1;
}

SearchRequest TextSearch(std::string text) {
  SearchRequest request;
  request.query = TextQuery{std::move(text)};
  return request;
}

}  // namespace sightline
