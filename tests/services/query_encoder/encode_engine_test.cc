#include "services/query_encoder/encode_engine.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "tests/common/image/encode.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/gate.h"
#include "tests/support/ready_generation.h"

namespace sightline {
namespace {

using Answer = absl::StatusOr<EncodeResponse>;

// One engine with one generation, and requests to it.
struct Rig {
  explicit Rig(EncodeEngineOptions options = {}, FakeServingModelOptions parts = {},
               bool with_reranker = true, std::shared_ptr<const Model> other_reranker = nullptr,
               Dtype feature_dtype = kDefaultFeatureDtype)
      : model(std::make_shared<FakeServingModel>(parts)) {
    EncoderGeneration held;
    held.feature_dtype = feature_dtype;
    held.encoder = model;
    if (with_reranker) held.rerankers.push_back({"own", model});
    if (other_reranker != nullptr) held.rerankers.push_back({"other", other_reranker});
    bundle::v1::GenerationManifest manifest;
    manifest.set_index("images");
    manifest.set_generation("g1");
    manifest.mutable_embedding()->set_space(model->space());
    PutReady<EncoderGeneration>(&generations, manifest, std::make_shared<EncoderGeneration>(held));
    generations.table()->SetComplete();
    engine = std::make_unique<EncodeEngine>(options, &generations, &clock);
  }

  EncodeRequest Request(std::vector<EncodableQuery> queries, bool want_features = false) const {
    EncodeRequest request;
    request.target = {"images", "g1", model->space()};
    request.queries = std::move(queries);
    request.want_features = want_features;
    return request;
  }
  EncodeRequest Texts(const std::vector<std::string>& texts) const {
    std::vector<EncodableQuery> queries;
    for (const std::string& text : texts) queries.push_back(TextQuery{text});
    return Request(std::move(queries));
  }
  CallContext Call(absl::Duration within = absl::Seconds(10)) {
    return CallContext(&clock, clock.Now() + within);
  }
  Answer Encode(const EncodeRequest& request) { return engine->EncodeQueries(request, Call()); }
  std::unique_ptr<Background<Answer>> Start(const EncodeRequest& request, const CallContext& call) {
    return std::make_unique<Background<Answer>>(
        [this, request, call] { return engine->EncodeQueries(request, call); });
  }
  std::unique_ptr<Background<Answer>> Start(const EncodeRequest& request) {
    return Start(request, Call());
  }
  void AwaitQueuedTexts(int count) {
    AwaitUntil([&] { return engine->stats().text.queued_tasks == count; });
  }

  FakeClock clock;
  std::shared_ptr<FakeServingModel> model;
  GenerationRegistry<EncoderGeneration> generations{Clock::Real()};
  std::unique_ptr<EncodeEngine> engine;
};

std::vector<float> RowOf(const Answer& answer, int row = 0) {
  REQUIRE(answer.status() == absl::OkStatus());
  REQUIRE(row < answer->embeddings.rows());
  return {answer->embeddings.row(row).begin(), answer->embeddings.row(row).end()};
}

TEST_CASE("texts of strangers that wait together are encoded together") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  auto second = rig.Start(rig.Texts({"a red fish"}));
  auto third = rig.Start(rig.Texts({"two", "three words here"}));
  rig.AwaitQueuedTexts(3);
  release.Open();

  CHECK(RowOf(first->Get()) == EmbeddingOf(IdsOf("first")));
  CHECK(RowOf(second->Get()) == EmbeddingOf(IdsOf("a red fish")));
  const Answer both = third->Get();
  CHECK(RowOf(both, 0) == EmbeddingOf(IdsOf("two")));
  CHECK(RowOf(both, 1) == EmbeddingOf(IdsOf("three words here")));
  CHECK(rig.model->text_batches() == std::vector<int>{1, 3});
}

TEST_CASE("a query that its batch cannot bear fails its own request only") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  auto good = rig.Start(rig.Texts({"good"}));
  auto bad = rig.Start(rig.Texts({"fine", kPoison}));
  rig.AwaitQueuedTexts(3);
  release.Open();

  CHECK(first->Get().ok());
  CHECK(RowOf(good->Get()) == EmbeddingOf(IdsOf("good")));
  CHECK(absl::IsInvalidArgument(bad->Get().status()));
}

TEST_CASE("a model that breaks down fails all, and is not asked again for each") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  auto one = rig.Start(rig.Texts({"one"}));
  auto other = rig.Start(rig.Texts({kBreakdown}));
  rig.AwaitQueuedTexts(2);
  release.Open();
  CHECK(absl::IsInternal(one->Get().status()));
  CHECK(absl::IsInternal(other->Get().status()));
  CHECK(rig.model->text_batches() == std::vector<int>{1, 2});
}

TEST_CASE("a device that fails takes the generation out of service, with a reason") {
  Rig rig;
  const Answer failed = rig.Encode(rig.Texts({kDeviceFailure}));
  CHECK(absl::IsUnavailable(failed.status()));
  CHECK(HasReason(failed.status(), reasons::kDeviceFailed));
  const auto entry = rig.generations.table()->Get("images", "g1");
  CHECK(entry->state == HoldState::kRefused);
  CHECK(HasReason(entry->refusal, reasons::kDeviceFailed));
  CHECK(HasReason(rig.Encode(rig.Texts({"fish"})).status(), reasons::kGenerationNotHeld));
}

TEST_CASE("a text that cannot be tokenized is refused before anything is queued") {
  Rig rig;
  CHECK(absl::IsInvalidArgument(rig.Encode(rig.Texts({" "})).status()));
  CHECK(rig.model->text_batches().empty());
}

TEST_CASE("the first of several queries to fail takes the waiting ones along") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  const Answer refused = rig.Encode(rig.Texts({"good", " "}));
  CHECK(absl::IsInvalidArgument(refused.status()));
  CHECK(rig.engine->stats().text.queued_tasks == 0);
  CHECK(rig.engine->stats().text.dropped_tasks == 1);
  release.Open();
  CHECK(first->Get().ok());
  CHECK(rig.model->text_batches() == std::vector<int>{1});
}

TEST_CASE("a full queue is RESOURCE_EXHAUSTED, at once") {
  EncodeEngineOptions options;
  options.text.max_batch_cost = 3;
  options.text.max_queue_cost = 4;
  Rig rig(options);
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  auto waiting = rig.Start(rig.Texts({"one two three"}));
  rig.AwaitQueuedTexts(1);
  CHECK(absl::IsResourceExhausted(rig.Encode(rig.Texts({"four five"})).status()));
  release.Open();
  CHECK(first->Get().ok());
  CHECK(waiting->Get().ok());
}

TEST_CASE("a call that is over when it comes is not begun") {
  Rig rig;
  const CallContext late = rig.Call(absl::ZeroDuration());
  CHECK(absl::IsDeadlineExceeded(rig.engine->EncodeQueries(rig.Texts({"a"}), late).status()));
  const CallContext gone = rig.Call();
  gone.cancellation()->Cancel();
  CHECK(absl::IsCancelled(rig.engine->EncodeQueries(rig.Texts({"a"}), gone).status()));
  CHECK(rig.model->text_batches().empty());
}

TEST_CASE("calls end at their deadline or cancellation while the worker is busy") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto under_way = rig.Start(rig.Texts({"first"}), rig.Call(absl::Milliseconds(20)));
  entered.Wait();
  auto late = rig.Start(rig.Texts({"late"}), rig.Call(absl::Milliseconds(20)));
  const CallContext call = rig.Call();
  auto gone = rig.Start(rig.Texts({"gone"}), call);
  rig.AwaitQueuedTexts(2);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(gone->Get().status()));
  rig.clock.Advance(absl::Milliseconds(20));
  CHECK(absl::IsDeadlineExceeded(late->Get().status()));
  CHECK(absl::IsDeadlineExceeded(under_way->Get().status()));
  release.Open();
  rig.engine->Drain();
  CHECK(rig.model->text_batches() == std::vector<int>{1});
}

TEST_CASE("features come along when they are wanted, and only then") {
  Rig rig;
  std::vector<EncodableQuery> queries = {TextQuery{"red fish"},
                                         RegionsQuery{ImageOf(IdsOf("blue bird"))}};
  CHECK(rig.Encode(rig.Request(queries))->features.empty());
  const Answer answer = rig.Encode(rig.Request(queries, /*want_features=*/true));
  REQUIRE(answer.ok());
  REQUIRE(answer->features.size() == 2);
  CHECK(answer->features[0].Find("ids")->bytes ==
        TextFeaturesOf(IdsOf("red fish")).tensors[0].bytes);
  CHECK(answer->features[1].Find("regions")->bytes ==
        ImageFeaturesOf(IdsOf("blue bird")).tensors[0].bytes);
}

TEST_CASE("a picture's features are what the generation keeps, sent or found") {
  FakeServingModelOptions parts;
  parts.fractions = true;
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kInt8}) {
    Rig rig({}, parts, true, nullptr, dtype);
    const Answer answer = rig.Encode(
        rig.Request({RegionsQuery{ImageOf({7})}, ImageQuery{EncodePng(PictureOf(7, 4, 3))}},
                    /*want_features=*/true));
    REQUIRE(answer.ok());
    for (const ItemFeatures& features : answer->features) {
      CHECK(features.Find("fractions")->dtype == dtype);
      CHECK((features.Find("fractions_scales") != nullptr) == (dtype == Dtype::kInt8));
    }
  }
}

TEST_CASE("a text is tokenized once for an encoder that reranks too") {
  Rig rig;
  REQUIRE(rig.Encode(rig.Request({TextQuery{"red fish"}}, /*want_features=*/true)).ok());
  REQUIRE(rig.model->tokenized() == 1);
}

TEST_CASE("a text that only the reranker refuses is found without features") {
  FakeServingModelOptions picky;
  picky.id = std::string(64, 'b');
  picky.refused = "fish";
  Rig rig({}, {}, /*with_reranker=*/false, std::make_shared<FakeServingModel>(picky));
  const Answer answer =
      rig.Encode(rig.Request({TextQuery{"red fish"}, TextQuery{"bird"}}, /*want_features=*/true));
  CHECK(RowOf(answer) == EmbeddingOf(IdsOf("red fish")));
  CHECK(answer->features[0].tensors.empty());
  CHECK(answer->features[1].Find("ids") != nullptr);
}

TEST_CASE("without a reranker features that are wanted are empty") {
  Rig rig({}, {}, /*with_reranker=*/false);
  const Answer answer = rig.Encode(rig.Request(
      {TextQuery{"fish"}, RegionsQuery{ImageOf(IdsOf("bird"))}}, /*want_features=*/true));
  REQUIRE(answer.ok());
  REQUIRE(answer->features.size() == 2);
  CHECK(answer->features[0].tensors.empty());
  CHECK(answer->features[1].tensors.empty());
}

TEST_CASE("a picture is small by the time it is queued, and becomes regions") {
  Rig rig;
  const std::string png = EncodePng(PictureOf(0x102030, 40, 30));
  const Answer answer = rig.Encode(rig.Request({ImageQuery{png}}, /*want_features=*/true));
  CHECK(RowOf(answer) == EmbeddingOf({0x102030}));
  CHECK(answer->features[0].Find("regions")->bytes == ImageFeaturesOf({0x102030}).tensors[0].bytes);
  CHECK(rig.model->extracted_widths() == std::vector<int>{1});
}

TEST_CASE("a reranker of its own looks at a picture with its own eyes") {
  FakeServingModelOptions parts;
  parts.reduced_width = 2;
  parts.tint = 0xff;
  const auto reranker = std::make_shared<FakeServingModel>(parts);
  Rig rig({}, {}, true, reranker);
  const std::vector<EncodableQuery> queries = {ImageQuery{EncodePng(PictureOf(0x102030, 40, 30))},
                                               RegionsQuery{ImageOf({7})}};
  EncodeRequest request = rig.Request(queries, /*want_features=*/true);
  request.reranker = "other";
  const Answer answer = rig.Encode(request);
  CHECK(RowOf(answer) == EmbeddingOf({0x102030}));
  CHECK(answer->reranker == "other");
  CHECK(answer->features[0].Find("regions")->bytes == ImageFeaturesOf({0x1020cf}).tensors[0].bytes);
  CHECK(answer->features[1].Find("regions")->bytes == ImageFeaturesOf({7}).tensors[0].bytes);
  CHECK(rig.model->extracted_widths() == std::vector<int>{1});
  CHECK(reranker->extracted_widths() == std::vector<int>{2});

  // Who wants no features does not pay for them.
  CHECK(RowOf(rig.Encode(rig.Request({queries[0]}))) == EmbeddingOf({0x102030}));
  CHECK(reranker->extracted_widths().size() == 1);
}

TEST_CASE("features are made for the reranker that is named, and without a name for the first") {
  FakeServingModelOptions parts;
  parts.tint = 0xff;
  const auto other = std::make_shared<FakeServingModel>(parts);
  Rig rig({}, {}, true, other);
  EncodeRequest request =
      rig.Request({ImageQuery{EncodePng(PictureOf(0x102030, 4, 3))}}, /*want_features=*/true);
  const auto bytes = [&] { return rig.Encode(request)->features[0].Find("regions")->bytes; };
  CHECK(bytes() == ImageFeaturesOf({0x102030}).tensors[0].bytes);
  CHECK(rig.Encode(request)->reranker == "own");
  request.reranker = "other";
  CHECK(bytes() == ImageFeaturesOf({0x1020cf}).tensors[0].bytes);
  request.reranker = "own";
  CHECK(bytes() == ImageFeaturesOf({0x102030}).tensors[0].bytes);
  request.reranker = "third";
  const absl::Status status = rig.Encode(request).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(std::string(status.message()).find("own, other") != std::string::npos);
  // Who wants no features may name anybody.
  request.want_features = false;
  CHECK(rig.Encode(request).ok());
}

TEST_CASE("pictures, regions and a bad image share a batch; only the bad one fails") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Request({RegionsQuery{ImageOf({7})}}));
  entered.Wait();
  ImageInput wrong = ImageOf({1, 2});
  wrong.regions.feature_size = 2;
  auto picture = rig.Start(rig.Request({ImageQuery{EncodePng(PictureOf(5, 4, 4))}}));
  auto regions = rig.Start(rig.Request({RegionsQuery{ImageOf({8, 9})}}));
  auto bad = rig.Start(rig.Request({RegionsQuery{wrong}}));
  AwaitUntil([&] { return rig.engine->stats().image.queued_tasks == 3; });
  release.Open();
  CHECK(first->Get().ok());
  CHECK(RowOf(picture->Get()) == EmbeddingOf({5}));
  CHECK(RowOf(regions->Get()) == EmbeddingOf({8, 9}));
  CHECK(absl::IsInvalidArgument(bad->Get().status()));
  CHECK(rig.model->image_batches() == std::vector<int>{1, 3, 1, 1, 1});
}

TEST_CASE("what is no picture is refused, header or body") {
  Rig rig;
  std::string png = EncodePng(PictureOf(5, 64, 64));
  CHECK(absl::IsInvalidArgument(rig.Encode(rig.Request({ImageQuery{"GIF89a"}})).status()));
  png.resize(png.size() / 2);
  CHECK(absl::IsInvalidArgument(rig.Encode(rig.Request({ImageQuery{png}})).status()));
}

TEST_CASE("a model is not asked for what it cannot do") {
  SECTION("texts") {
    FakeServingModelOptions parts;
    parts.texts = false;
    Rig rig({}, parts);
    CHECK(absl::IsFailedPrecondition(rig.Encode(rig.Texts({"fish"})).status()));
  }
  SECTION("images") {
    FakeServingModelOptions parts;
    parts.images = false;
    Rig rig({}, parts);
    CHECK(
        absl::IsFailedPrecondition(rig.Encode(rig.Request({RegionsQuery{ImageOf({1})}})).status()));
  }
  SECTION("pictures") {
    FakeServingModelOptions parts;
    parts.pictures = false;
    Rig rig({}, parts);
    CHECK(absl::IsInvalidArgument(
        rig.Encode(rig.Request({ImageQuery{EncodePng(PictureOf(5, 4, 4))}})).status()));
    // Regions that are none must not be taken for a picture, which nobody here can see.
    CHECK(absl::IsInvalidArgument(rig.Encode(rig.Request({RegionsQuery{}})).status()));
    CHECK(rig.Encode(rig.Request({RegionsQuery{ImageOf({1})}})).ok());
  }
}

TEST_CASE("another generation or space than is held is refused with the reason") {
  Rig rig;
  EncodeRequest request = rig.Texts({"fish"});
  request.target.generation = "g2";
  absl::Status status = rig.Encode(request).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(HasReason(status, reasons::kGenerationNotHeld));

  request = rig.Texts({"fish"});
  request.target.space = "elsewhere";
  status = rig.Encode(request).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(HasReason(status, reasons::kEmbeddingSpaceMismatch));
}

TEST_CASE("a request that counts on another precision is refused before any work") {
  Rig rig;
  EncodeRequest request = rig.Texts({"fish"});
  const auto entry = rig.generations.Find("images", "g1", rig.model->space());
  REQUIRE(entry.ok());
  EncoderGeneration held = *entry->held;
  held.precision = "int8";
  PutReady<EncoderGeneration>(&rig.generations, *entry->manifest,
                              std::make_shared<EncoderGeneration>(held));
  request.wish.precision = "float32";
  const absl::Status refused = rig.Encode(request).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(HasReason(refused, reasons::kPrecisionChanged));
  CHECK(rig.model->text_batches().empty());
  request.wish.or_any = true;
  CHECK(rig.Encode(request)->precision == "int8");
  request.wish = {};
  CHECK(rig.Encode(request)->precision == "int8");
  request.wish.precision = "int8";
  CHECK(rig.Encode(request)->precision == "int8");
}

TEST_CASE("a request holds one to max_queries queries") {
  EncodeEngineOptions options;
  options.max_queries = 2;
  Rig rig(options);
  for (const auto& texts : {std::vector<std::string>{}, std::vector<std::string>{"a", "b", "c"}}) {
    const absl::Status status = rig.Encode(rig.Texts(texts)).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(GetFields(status) == std::vector<std::string>{"queries"});
  }
  CHECK(rig.Encode(rig.Texts({"a", "b"})).ok());
}

TEST_CASE("draining finishes what was accepted and refuses the rest") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts({"first"}));
  entered.Wait();
  auto queued = rig.Start(rig.Texts({"queued"}));
  rig.AwaitQueuedTexts(1);
  Background<int> drain([&] {
    rig.engine->Drain();
    return 0;
  });
  release.Open();
  drain.Get();
  CHECK(first->Get().ok());
  CHECK(queued->Get().ok());
  CHECK(absl::IsUnavailable(rig.Encode(rig.Texts({"late"})).status()));
  CHECK(absl::IsUnavailable(rig.Encode(rig.Request({RegionsQuery{ImageOf({1})}})).status()));
}

}  // namespace
}  // namespace sightline
