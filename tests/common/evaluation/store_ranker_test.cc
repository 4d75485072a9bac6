// Ranking in process over a real tiny store, refereed by scoring everything directly.
#include "common/evaluation/store_ranker.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/publication.h"
#include "common/evaluation/item_splits.h"
#include "tests/integration/referee.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

constexpr int kItems = 60;
constexpr int kHitsWanted = 50;

const TinyStore& Tiny() {
  static const auto* dir = new TempDir;
  static const auto* store = new TinyStore(MakeTinyStore(dir->path(), kItems));
  return *store;
}

ComputePool& Pool() {
  static auto* pool = new ComputePool(2);
  return *pool;
}

EvaluationStoreOptions Options() {
  EvaluationStoreOptions options;
  options.store = Tiny().path;
  return options;
}

const EvaluationStore& Store() {
  static const auto* store = [] {
    auto opened = EvaluationStore::Open(Options(), &Pool(), CallContext::Unbounded());
    if (!opened.ok()) throw std::runtime_error(opened.status().ToString());
    return opened->release();
  }();
  return *store;
}

absl::StatusOr<Rankings> Rank(Direction direction, const std::vector<EvaluationQuery>& queries,
                              const std::vector<Method>& methods, int wanted = kHitsWanted) {
  StoreRanker ranker(&Store());
  return ranker.Rank({direction, queries, methods, wanted}, CallContext::Unbounded());
}

RefereeQuery QueryOf(Direction direction, const EvaluationQuery& query) {
  const TinyItem& item = Tiny().item(query.item_id);
  if (direction == Direction::kTextToImage) {
    return {item.caption_embedding, &item.caption_features, nullptr};
  }
  return {item.image_embedding, nullptr, &item.image_features};
}

struct ExpectedHit {
  RefereeHit hit;
  double score = 0;  // what the list is ordered by within its stage
};

// The referee's numbers, combined and sorted in the plainest way.
std::vector<ExpectedHit> Expected(Direction direction, const EvaluationQuery& query,
                                  const Method& method) {
  std::vector<ExpectedHit> hits;
  for (const RefereeHit& hit : RefereeSearch(Tiny(), direction == Direction::kTextToImage,
                                             QueryOf(direction, query), method.depth)) {
    hits.push_back({hit, hit.reranked ? hit.block_score : hit.retrieval_score});
  }
  const auto end = hits.begin() + method.depth;
  if (method.depth > 0 && method.combination.kind != CombinationKind::kReplace) {
    double e_min = 0, e_max = 1, c_min = 0, c_max = 1;
    if (method.combination.kind == CombinationKind::kNormAddLambda) {
      e_min = c_min = 1e9;
      e_max = c_max = -1e9;
      for (auto hit = hits.begin(); hit != end; ++hit) {
        e_min = std::min<double>(e_min, hit->hit.retrieval_score);
        e_max = std::max<double>(e_max, hit->hit.retrieval_score);
        c_min = std::min<double>(c_min, hit->hit.rerank_score);
        c_max = std::max<double>(c_max, hit->hit.rerank_score);
      }
    }
    const double lambda = method.combination.lambda;
    for (auto hit = hits.begin(); hit != end; ++hit) {
      hit->score = lambda * (hit->hit.retrieval_score - e_min) / (e_max - e_min) +
                   (1 - lambda) * (hit->hit.rerank_score - c_min) / (c_max - c_min);
    }
  }
  std::stable_sort(hits.begin(), end,
                   [](const ExpectedHit& a, const ExpectedHit& b) { return a.score > b.score; });
  return hits;
}

std::vector<Method> SomeMethods() {
  return {Method(),
          {7, {CombinationKind::kReplace, 0}},
          {20, {CombinationKind::kReplace, 0}},
          {7, {CombinationKind::kAddLambda, 0.5f}},
          {20, {CombinationKind::kNormAddLambda, 0.3f}}};
}

// Items may change places where their scores are all but equal.  The tiny model's
// probabilities lie close together, so normalising them blows rounding up.
void RequireSameRanking(const std::vector<Hit>& hits, const std::vector<ExpectedHit>& expected,
                        double tie) {
  REQUIRE(hits.size() == kHitsWanted);
  for (size_t i = 0; i < hits.size(); ++i) {
    const auto it = std::find_if(expected.begin(), expected.end(), [&](const ExpectedHit& e) {
      return e.hit.item_id == hits[i].item_id;
    });
    REQUIRE(it != expected.end());
    REQUIRE(hits[i].retrieval_score == Approx(it->hit.retrieval_score).margin(1e-5));
    REQUIRE(hits[i].rerank_score.has_value() == it->hit.reranked);
    if (it->hit.reranked)
      REQUIRE(*hits[i].rerank_score == Approx(it->hit.rerank_score).margin(1e-5));
    REQUIRE(it->hit.reranked == expected[i].hit.reranked);
    REQUIRE(std::abs(it->score - expected[i].score) <= tie);
  }
}

TEST_CASE("every method ranks as scoring everything directly does, in both directions") {
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    const std::vector<EvaluationQuery> queries = Sample(Store().relevance().Queries(direction), 8);
    const std::vector<Method> methods = SomeMethods();
    const auto rankings = Rank(direction, queries, methods);
    REQUIRE(rankings.ok());
    for (size_t q = 0; q < queries.size(); ++q) {
      for (size_t m = 0; m < methods.size(); ++m) {
        INFO(DirectionName(direction) << " " << queries[q].item_id << " " << MethodText(methods[m])
                                      << " " << methods[m].depth);
        const bool norm = methods[m].combination.kind == CombinationKind::kNormAddLambda;
        RequireSameRanking((*rankings)[q][m], Expected(direction, queries[q], methods[m]),
                           norm ? 5e-3 : 1e-6);
      }
    }
  }
}

TEST_CASE("one batch and many give the same numbers") {
  const std::vector<EvaluationQuery> queries = Store().relevance().Queries(Direction::kTextToImage);
  const std::vector<Method> methods = {{20, {CombinationKind::kReplace, 0}}};
  const auto together = Rank(Direction::kTextToImage, queries, methods);
  REQUIRE(together.ok());
  for (size_t q = 0; q < queries.size(); q += 17) {
    const auto alone = Rank(Direction::kTextToImage, {queries[q]}, methods);
    for (size_t i = 0; i < kHitsWanted; ++i) {
      const Hit& a = (*together)[q][0][i];
      const Hit& b = (*alone)[0][0][i];
      REQUIRE(std::abs(a.retrieval_score - b.retrieval_score) < 1e-5);
    }
  }
}

TEST_CASE("a depth beyond the list reranks what the list does not show") {
  const std::vector<EvaluationQuery> queries =
      Sample(Store().relevance().Queries(Direction::kTextToImage), 1);
  const Method deep = {40, {CombinationKind::kReplace, 0}};
  const auto short_list = Rank(Direction::kTextToImage, queries, {deep}, 5);
  const auto long_list = Rank(Direction::kTextToImage, queries, {deep}, 40);
  REQUIRE((*short_list)[0][0].size() == 5);
  for (int i = 0; i < 5; ++i) {
    REQUIRE((*short_list)[0][0][i].item_id == (*long_list)[0][0][i].item_id);
  }
}

TEST_CASE("lists and depths end where the index ends") {
  const std::vector<EvaluationQuery> queries =
      Sample(Store().relevance().Queries(Direction::kImageToText), 2);
  const auto rankings =
      Rank(Direction::kImageToText, queries, {{100, {CombinationKind::kReplace, 0}}}, 100);
  REQUIRE(rankings.ok());
  REQUIRE((*rankings)[1][0].size() == kItems);
}

TEST_CASE("queries that cannot be are refused by name") {
  const auto unknown = Rank(Direction::kImageToText, {{"pictures/none", "", {}}}, {Method()});
  REQUIRE(absl::IsInvalidArgument(unknown.status()));
  REQUIRE(absl::StrContains(unknown.status().message(), "'pictures/none'"));
  const auto blank = Rank(Direction::kTextToImage, {{"pictures/000", "  ", {}}}, {Method()});
  REQUIRE(absl::StrContains(blank.status().message(), "'pictures/000'"));
}

TEST_CASE("a reranker is chosen by name, and ranks as its own model does") {
  TempDir directory;
  const TinyStore tiny = MakeTinyStore(directory.path(), 20);
  const TinyStore other = WithOtherModel(tiny);
  WriteTinyGenerationOfTwo(tiny, other, "fine", "g2");
  REQUIRE(PublishGeneration(tiny.path, kTinyImages, "g2").ok());
  REQUIRE(PublishGeneration(tiny.path, kTinyCaptions, "g2").ok());
  EvaluationStoreOptions options;
  options.store = tiny.path;
  options.reranker = "fine";
  const auto store = EvaluationStore::Open(options, &Pool(), CallContext::Unbounded());
  INFO(store.status());
  REQUIRE(store.ok());
  REQUIRE((*store)->reranker(Direction::kImageToText).name == "fine");
  REQUIRE((*store)->reranker(Direction::kImageToText).model->id() == other.model->id());
  const TinyItem& item = tiny.items[3];
  StoreRanker ranker(store->get());
  const std::vector<EvaluationQuery> queries = {{item.image_id, item.caption, {}}};
  const std::vector<Method> methods = {{10, {}}};
  const auto rankings =
      ranker.Rank({Direction::kTextToImage, queries, methods, 10}, CallContext::Unbounded());
  REQUIRE(rankings.ok());
  const ItemFeatures& text = other.items[3].caption_features;
  const auto expected =
      RefereeSearch(tiny, true, {item.caption_embedding, &text, nullptr}, 10, "", &other);
  for (int i = 0; i < 10; ++i) {
    REQUIRE((*rankings)[0][0][i].rerank_score.value() == Approx(expected[i].rerank_score));
  }
  options.reranker = "finest";
  const absl::Status status =
      EvaluationStore::Open(options, &Pool(), CallContext::Unbounded()).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "default, fine"));
}

TEST_CASE("a store tells its parts and what its bundle declares") {
  REQUIRE(Store().images().manifest().item_count() == kItems);
  REQUIRE(Store().captions().Name() == "captions/g1");
  REQUIRE(Store().reranker(Direction::kTextToImage).declared->combination.kind ==
          CombinationKind::kReplace);
  REQUIRE(Store().relevance().Queries(Direction::kTextToImage).size() == kItems);
}

TEST_CASE("indexes that do not belong together are refused") {
  const auto open = [](EvaluationStoreOptions options) {
    return EvaluationStore::Open(options, &Pool(), CallContext::Unbounded()).status();
  };
  EvaluationStoreOptions options = Options();
  options.images_index = "captions";
  REQUIRE(absl::StrContains(open(options).message(), "captions/g1 holds no pictures"));
  options = Options();
  options.language = "de";
  REQUIRE(absl::StrContains(open(options).message(), "has no caption in language 'de'"));
  options = Options();
  options.captions_index = "nowhere";
  REQUIRE(absl::IsNotFound(open(options)));
  TempDir empty;
  options = Options();
  options.store = empty.path();
  REQUIRE(absl::IsNotFound(open(options)));
}

TEST_CASE("a damaged file is found before anything is measured") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 5);
  const std::string path = JoinPath(GenerationDirectory(dir.path(), "images", "g1"),
                                    ShardFileName(0, store.shard_count, "vectors"));
  auto bytes = ReadFile(path);
  REQUIRE(bytes.ok());
  (*bytes)[bytes->size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(path, *bytes).ok());
  EvaluationStoreOptions options;
  options.store = dir.path();
  REQUIRE(
      absl::IsDataLoss(EvaluationStore::Open(options, &Pool(), CallContext::Unbounded()).status()));
}

}  // namespace
}  // namespace sightline
