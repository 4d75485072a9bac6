#include "common/retrieval/search_keys.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// What keys are made of, free to be changed.
struct Asked {
  SearchRequest request;
  GenerationInfo target;
  absl::optional<GenerationInfo> item_index;
  Precisions precision;
  bool rerank = true;

  SearchKeys Keys(const KeptKeys& kept = {true, true, true}) const {
    SearchPlan plan;
    plan.target.info = std::make_shared<const GenerationInfo>(target);
    if (item_index.has_value()) {
      plan.item_index.emplace();
      plan.item_index->info = std::make_shared<const GenerationInfo>(*item_index);
    }
    const auto& rerankers = plan.target.info->rerankers;
    plan.reranker = rerankers.empty() ? nullptr : &rerankers.front();
    plan.precision = precision;
    plan.rerank = rerank;
    return KeysOf(request, plan, kept);
  }
};

Asked Base() {
  Asked asked;
  asked.request.index = "pictures";
  asked.request.query = TextQuery{"fish"};
  asked.target.ref = {"pictures", "generation-7", "space"};
  asked.target.encoder_model = "encoder";
  asked.target.rerankers = {{"default", "cross-encoder", {}}, {"other", "another", {}}};
  return asked;
}

using Change = std::function<void(Asked*)>;

Change Regions(const std::function<void(ImageInput*)>& change) {
  return [change](Asked* asked) {
    ImageInput image;
    image.regions = {2, 1, {1, 2}, {}};
    change(&image);
    asked->request.query = RegionsQuery{image};
  };
}

// Queries other than Base's, each of another content.
std::vector<Change> QueryChanges() {
  return {
      [](Asked* a) { a->request.query = TextQuery{"fist"}; },
      [](Asked* a) { a->request.query = ImageQuery{"fish"}; },
      [](Asked* a) { a->request.query = ImageQuery{"fist"}; },
      Regions([](ImageInput*) {}),
      Regions([](ImageInput* image) { image->regions.count = 1; }),
      Regions([](ImageInput* image) { image->regions.feature_size = 2; }),
      Regions([](ImageInput* image) { image->regions.features[1] = 3; }),
      Regions([](ImageInput* image) {
        image->regions.boxes = {0, 0, 1, 1};
      }),
      Regions([](ImageInput* image) {
        image->regions.box_sizes = {0, 0, 1, 1};
      }),
      Regions([](ImageInput* image) {
        image->regions.confidences = {0, 0, 1, 1};
      }),
      Regions([](ImageInput* image) { image->ocr_tokens = {"a"}; }),
      Regions([](ImageInput* image) {
        image->ocr_tokens = {"", "a"};
      }),
      Regions([](ImageInput* image) { image->tags = {"a"}; }),
  };
}

// Of the generation and its models.
std::vector<Change> TargetChanges() {
  return {
      [](Asked* a) { a->target.ref.index = "captions"; },
      [](Asked* a) { a->target.ref.generation = "generation-8"; },
      [](Asked* a) { a->target.ref.space = "another"; },
      [](Asked* a) { a->target.content = IndexContent::kCaptions; },
      [](Asked* a) { a->target.dimension = 3; },
      [](Asked* a) { a->target.shard_count = 3; },
      [](Asked* a) { a->target.item_count = 3; },
      [](Asked* a) { a->target.encoder_model = "another"; },
      [](Asked* a) { a->target.rerankers[0].name = "another"; },
      [](Asked* a) { a->target.rerankers[0].model = "another"; },
      [](Asked* a) { a->target.rerankers[0].declared.by_default = false; },
      [](Asked* a) {
        a->target.rerankers[0].declared.combination = {CombinationKind::kAddLambda, 0.5f};
      },
      [](Asked* a) {
        a->target.rerankers[0].declared.combination = {CombinationKind::kAddLambda, 0.6f};
      },
      [](Asked* a) { a->target.rerankers.clear(); },
  };
}

std::vector<Change> PrecisionChanges() {
  return {
      [](Asked* a) { a->precision.encoder = "int8"; },
      [](Asked* a) { a->precision.reranker = "int8"; },
      [](Asked* a) { a->precision.reranker = "bf16"; },
      [](Asked* a) {
        a->precision = {"int8", "int8"};
      },
  };
}

// Every field of a request beside its query.
std::vector<Change> RequestChanges() {
  return {
      [](Asked* a) { a->request.index = ""; },
      [](Asked* a) { a->request.top_k = 11; },
      [](Asked* a) { a->request.depth = 0; },
      [](Asked* a) { a->request.depth = 20; },  // not the default: it asks to be reranked
      [](Asked* a) { a->request.combination = Combination{}; },
      [](Asked* a) {
        a->request.combination = Combination{CombinationKind::kAddLambda, 0.5f};
      },
      [](Asked* a) {
        a->request.combination = Combination{CombinationKind::kAddLambda, 0.6f};
      },
      [](Asked* a) { a->request.reranker = "default"; },
      [](Asked* a) { a->request.reranker = "other"; },
      [](Asked* a) { a->request.filter.any = {"a"}; },
      [](Asked* a) { a->request.filter.all = {"a"}; },
      [](Asked* a) { a->request.filter.none = {"a"}; },
      [](Asked* a) { a->request.effort.recall = 0.9f; },
      [](Asked* a) { a->request.effort.effort = 9; },
      [](Asked* a) { a->request.want_records = false; },
      [](Asked* a) { a->request.page_token = "token"; },
      [](Asked* a) { a->item_index = a->target; },
      [](Asked* a) {
        a->item_index = a->target;
        a->item_index->ref.generation = "generation-8";
      },
      [](Asked* a) {
        a->request.query = EmbeddingQuery{{1, 2}, "s"};
      },
      [](Asked* a) {
        a->request.query = EmbeddingQuery{{1, 3}, "s"};
      },
      [](Asked* a) {
        a->request.query = EmbeddingQuery{{1, 2}, "t"};
      },
      [](Asked* a) {
        a->request.query = ItemQuery{"", "fish"};
      },
      [](Asked* a) {
        a->request.query = ItemQuery{"fi", "sh"};
      },
  };
}

// The keys of Base and of each change to it.
template <typename Member>
std::vector<std::string> KeysOfChanges(const std::vector<std::vector<Change>>& lists,
                                       Member member) {
  std::vector<std::string> keys = {Base().Keys().*member};
  for (const std::vector<Change>& changes : lists) {
    for (const Change& change : changes) {
      Asked asked = Base();
      change(&asked);
      keys.push_back(asked.Keys().*member);
    }
  }
  return keys;
}

void CheckAllDiffer(const std::vector<std::string>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    CHECK(keys[i].size() == 32);
    for (size_t j = 0; j < i; ++j) {
      CAPTURE(i, j);
      CHECK(keys[i] != keys[j]);
    }
  }
}

TEST_CASE("whatever an answer depends on changes its key") {
  CheckAllDiffer(
      KeysOfChanges({QueryChanges(), TargetChanges(), RequestChanges()}, &SearchKeys::answer));
}

TEST_CASE("what was computed in one precision is found in no other") {
  for (const auto member : {&SearchKeys::answer, &SearchKeys::encoded, &SearchKeys::scored}) {
    CheckAllDiffer(KeysOfChanges({PrecisionChanges()}, member));
  }
}

TEST_CASE("whatever an encoded query depends on changes its key") {
  std::vector<std::vector<Change>> lists = {QueryChanges(), TargetChanges()};
  // Without the features of the cross-encoder it is another; with no cross-encoder it is that.
  lists.back().pop_back();
  lists.push_back({[](Asked* a) { a->rerank = false; }});
  CheckAllDiffer(KeysOfChanges(lists, &SearchKeys::encoded));
}

TEST_CASE("whatever scores depend on changes their key") {
  std::vector<std::vector<Change>> lists = {QueryChanges(), TargetChanges(), {}};
  lists.back().push_back([](Asked* a) { a->item_index = a->target; });
  lists.back().push_back([](Asked* a) {
    a->item_index = a->target;
    a->item_index->ref.generation = "generation-8";
  });
  CheckAllDiffer(KeysOfChanges(lists, &SearchKeys::scored));
}

TEST_CASE("what nobody keeps anything by is no key, and the others are as they were") {
  const SearchKeys all = Base().Keys();
  const SearchKeys none = Base().Keys({false, false, false});
  CHECK((none.answer.empty() && none.encoded.empty() && none.scored.empty()));
  const SearchKeys encoded = Base().Keys({false, true, false});
  CHECK((encoded.answer.empty() && encoded.scored.empty()));
  CHECK(encoded.encoded == all.encoded);
  CHECK(Base().Keys({true, false, false}).answer == all.answer);
  CHECK(Base().Keys({false, false, true}).scored == all.scored);
}

TEST_CASE("how many hits are wanted, and which, is nothing to the encoder or to scores") {
  for (const Change& change : RequestChanges()) {
    Asked asked = Base();
    change(&asked);
    if (!std::holds_alternative<TextQuery>(asked.request.query)) continue;
    CHECK(asked.Keys().encoded == Base().Keys().encoded);
    if (!asked.item_index.has_value()) CHECK(asked.Keys().scored == Base().Keys().scored);
  }
}

TEST_CASE("equal requests have equal keys, whichever copy holds their upload") {
  const auto with = [](const std::string& bytes) {
    Asked asked = Base();
    asked.request.query = ImageQuery{bytes};
    return asked.Keys();
  };
  const std::string picture(1 << 20, 'p');
  std::string other = picture;
  other.back() = 'q';
  CHECK(with(picture).answer == with(std::string(picture)).answer);
  CHECK(with(picture).encoded == with(std::string(picture)).encoded);
  CHECK(with(picture).answer != with(other).answer);
}

TEST_CASE("a reranker that does not take part does not count") {
  Asked asked = Base();
  asked.target.rerankers[1].model = "a third";
  CHECK(asked.Keys().answer == Base().Keys().answer);
}

}  // namespace
}  // namespace sightline
