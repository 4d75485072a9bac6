#include "services/reranker/rerank_engine.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "tests/services/word_store.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/gate.h"
#include "tests/support/ready_generation.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Scored = absl::StatusOr<RerankResponse>;

// Another reranker, which scores everything the other way round.
std::shared_ptr<FakeServingModel> Fine() {
  FakeServingModelOptions options;
  options.id = std::string(64, 'b');
  options.contrary = true;
  return std::make_shared<FakeServingModel>(options);
}

// Images in two shards, for two rerankers, and captions in one.
struct Rig {
  explicit Rig(RerankEngineOptions options = {})
      : images(WriteWordIndex(dir.path(), "images", false, 2, MakeWordItems("images", 20), {}, "g1",
                              {{"fine", fine->id()}})),
        captions(WriteWordIndex(dir.path(), "captions", true, 1, MakeWordItems("captions", 9))) {
    PutReady<RerankGeneration>(&generations, images.manifest,
                               OpenForRerank(images, {model, fine}, {0, 1}));
    PutReady<RerankGeneration>(&generations, captions.manifest,
                               OpenForRerank(captions, {model}, {0}));
    generations.table()->SetComplete();
    engine = std::make_unique<RerankEngine>(options, &generations, &clock);
  }

  RerankRequest Texts(const std::string& query, std::vector<RerankSide> candidates) const {
    return {images.ref(), /*query_is_text=*/true, TextQuery{query}, std::move(candidates), ""};
  }
  CallContext Call(absl::Duration within = absl::Seconds(10)) {
    return CallContext(&clock, clock.Now() + within);
  }
  Scored Rerank(const RerankRequest& request) { return engine->RerankCandidates(request, Call()); }
  std::unique_ptr<Background<Scored>> Start(const RerankRequest& request, const CallContext& call) {
    return std::make_unique<Background<Scored>>(
        [this, request, call] { return engine->RerankCandidates(request, call); });
  }
  std::unique_ptr<Background<Scored>> Start(const RerankRequest& request) {
    return Start(request, Call());
  }
  void AwaitQueued(int count) {
    AwaitUntil([&] { return engine->stats().queued_tasks == count; });
  }

  TempDir dir;
  FakeClock clock;
  std::shared_ptr<FakeServingModel> model = std::make_shared<FakeServingModel>();
  std::shared_ptr<FakeServingModel> fine = Fine();
  WordIndex images, captions;
  GenerationRegistry<RerankGeneration> generations{Clock::Real()};
  std::unique_ptr<RerankEngine> engine;
};

RerankSide Image(const std::string& words) {
  return ImageFeaturesOf(IdsOf(words));
}
float Score(const std::string& text, const std::string& image) {
  return PairScoreOf(IdsOf(text), IdsOf(image));
}

TEST_CASE("pairs of several requests share a batch, and each gets its own scores") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  auto second = rig.Start(rig.Texts("red fish", {Image("a b"), Image("c")}));
  auto third = rig.Start(rig.Texts("bird", {Image("c"), Image("d"), Image("a b")}));
  rig.AwaitQueued(5);
  release.Open();
  CHECK(first->Get()->scores == std::vector<float>{Score("first", "x")});
  CHECK(second->Get()->scores ==
        std::vector<float>{Score("red fish", "a b"), Score("red fish", "c")});
  const Scored scored = third->Get();
  REQUIRE(scored.ok());
  CHECK(scored->scores ==
        std::vector<float>{Score("bird", "c"), Score("bird", "d"), Score("bird", "a b")});
  CHECK(scored->score_kind == ScoreKind::kSigmoid);
  CHECK(rig.model->pair_batches() == std::vector<int>{1, 5});
}

TEST_CASE("pairs for two rerankers share a queue, and each gets the scores of its own") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  RerankRequest request = rig.Texts("red fish", {Image("a b"), StoredRef{rig.images.ref(), 1, 2}});
  auto plain = rig.Start(request);
  request.reranker = "fine";
  auto fine = rig.Start(request);
  rig.AwaitQueued(4);
  release.Open();
  CHECK(first->Get()->reranker == "default");
  const Scored by_default = plain->Get(), by_fine = fine->Get();
  REQUIRE(by_default.ok());
  REQUIRE(by_fine.ok());
  CHECK(by_fine->reranker == "fine");
  CHECK(by_default->scores[0] == Score("red fish", "a b"));
  CHECK(by_default->scores[1] == Score("red fish", rig.images.ItemsOf(1)[2].words));
  for (int i = 0; i < 2; ++i) CHECK(by_fine->scores[i] == 1 - by_default->scores[i]);
  CHECK(rig.model->pair_batches() == std::vector<int>{1, 2});
  CHECK(rig.fine->pair_batches() == std::vector<int>{2});
}

TEST_CASE("a request that counts on another precision is refused before any work") {
  Rig rig;
  auto held = *OpenForRerank(rig.images, {rig.model, rig.fine}, {0, 1});
  held.rerankers[0].precision = "int8";
  held.rerankers[1].precision = "float32";
  PutReady<RerankGeneration>(&rig.generations, rig.images.manifest,
                             std::make_shared<const RerankGeneration>(held));
  RerankRequest request = rig.Texts("fish", {Image("a")});
  CHECK(rig.Rerank(request)->precision == "int8");  // any will do
  request.wish.precision = "int8";
  CHECK(rig.Rerank(request)->precision == "int8");
  request.reranker = "fine";
  const absl::Status refused = rig.Rerank(request).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(HasReason(refused, reasons::kPrecisionChanged));
  CHECK(rig.fine->pair_batches().empty());
  request.wish.precision = "float32";
  CHECK(rig.Rerank(request)->precision == "float32");
}

TEST_CASE("a reranker of a name that there is not is refused with those there are") {
  Rig rig;
  RerankRequest request = rig.Texts("fish", {Image("a")});
  request.reranker = "finest";
  const absl::Status status = rig.Rerank(request).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(HasReason(status, reasons::kUnknownReranker));
  CHECK(std::string(status.message()).find("default, fine") != std::string::npos);
}

TEST_CASE("an item whose index has no features for the reranker is no caller's fault") {
  Rig rig;
  RerankRequest request = rig.Texts("fish", {StoredRef{rig.captions.ref(), 0, 1}});
  request.reranker = "fine";
  CHECK(absl::IsFailedPrecondition(rig.Rerank(request).status()));
}

TEST_CASE("a bad pair fails its own request only") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  auto good = rig.Start(rig.Texts("fish", {Image("a"), Image("b")}));
  auto bad = rig.Start(rig.Texts("fish", {Image("c"), ItemFeatures{}}));
  rig.AwaitQueued(4);
  release.Open();
  CHECK(first->Get().ok());
  CHECK(good->Get()->scores == std::vector<float>{Score("fish", "a"), Score("fish", "b")});
  CHECK(absl::IsInvalidArgument(bad->Get().status()));
}

TEST_CASE("a model that breaks down fails all, and is not asked again for each") {
  Rig rig;
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  auto one = rig.Start(rig.Texts("one", {Image("a")}));
  auto other = rig.Start(rig.Texts(kBreakdown, {Image("a")}));
  rig.AwaitQueued(2);
  release.Open();
  CHECK(absl::IsInternal(one->Get().status()));
  CHECK(absl::IsInternal(other->Get().status()));
  CHECK(rig.model->pair_batches() == std::vector<int>{1, 2});
}

TEST_CASE("a device that fails takes the generation out of service, with a reason") {
  Rig rig;
  const Scored failed = rig.Rerank(rig.Texts(kDeviceFailure, {Image("a"), Image("b")}));
  CHECK(absl::IsUnavailable(failed.status()));
  CHECK(HasReason(failed.status(), reasons::kDeviceFailed));
  const auto entry = rig.generations.table()->Get("images", "g1");
  CHECK(entry->state == HoldState::kRefused);
  CHECK(HasReason(entry->refusal, reasons::kDeviceFailed));
  CHECK(
      HasReason(rig.Rerank(rig.Texts("fish", {Image("a")})).status(), reasons::kGenerationNotHeld));
  CHECK(rig.generations.table()->Get("captions", "g1")->state == HoldState::kReady);
}

TEST_CASE("stored items of every shard, and features that came along, are one request") {
  Rig rig;
  const std::vector<WordItem> zero = rig.images.ItemsOf(0);
  const std::vector<WordItem> one = rig.images.ItemsOf(1);
  const Scored scored =
      rig.Rerank(rig.Texts("fish", {StoredRef{rig.images.ref(), 1, 2}, Image("upload"),
                                    StoredRef{rig.images.ref(), 0, 0}}));
  REQUIRE(scored.status() == absl::OkStatus());
  CHECK(scored->scores == std::vector<float>{Score("fish", one[2].words), Score("fish", "upload"),
                                             Score("fish", zero[0].words)});
}

TEST_CASE("an image finds its texts: stored, prepared and as they are") {
  Rig rig;
  const std::vector<WordItem> captions = rig.captions.ItemsOf(0);
  RerankRequest request;
  request.target = rig.captions.ref();
  request.query_is_text = false;
  request.query = Image("query image");
  request.candidates = {StoredRef{rig.captions.ref(), 0, 4}, TextQuery{"plain words"},
                        TextFeaturesOf(IdsOf("prepared"))};
  Scored scored = rig.Rerank(request);
  REQUIRE(scored.status() == absl::OkStatus());
  CHECK(scored->scores == std::vector<float>{Score(captions[4].words, "query image"),
                                             Score("plain words", "query image"),
                                             Score("prepared", "query image")});

  // The query may be an item of another index.
  request.query = StoredRef{rig.images.ref(), 0, 1};
  scored = rig.Rerank(request);
  REQUIRE(scored.status() == absl::OkStatus());
  CHECK(scored->scores[1] == Score("plain words", rig.images.ItemsOf(0)[1].words));

  request.query = TextQuery{"not an image"};
  CHECK(absl::IsInvalidArgument(rig.Rerank(request).status()));
}

TEST_CASE("a generation that is retrieval only says so") {
  Rig rig;
  PutReady<RerankGeneration>(&rig.generations, rig.images.manifest,
                             std::make_shared<RerankGeneration>());
  const absl::Status status = rig.Rerank(rig.Texts("fish", {Image("a")})).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(HasReason(status, reasons::kNoCrossEncoder));
}

TEST_CASE("features that are not held are refused with the reason") {
  Rig rig;
  PutReady<RerankGeneration>(&rig.generations, rig.images.manifest,
                             OpenForRerank(rig.images, {rig.model, rig.fine}, {1}));
  const absl::Status missing =
      rig.Rerank(rig.Texts("fish", {StoredRef{rig.images.ref(), 0, 0}})).status();
  CHECK(absl::IsFailedPrecondition(missing));
  CHECK(HasReason(missing, reasons::kShardNotHeld));

  GenerationRef elsewhere = rig.images.ref();
  elsewhere.generation = "g2";
  const absl::Status other = rig.Rerank(rig.Texts("fish", {StoredRef{elsewhere, 1, 0}})).status();
  CHECK(absl::IsFailedPrecondition(other));
  CHECK(HasReason(other, reasons::kGenerationNotHeld));
}

TEST_CASE("features that another cross-encoder made are no use, and no missing item") {
  Rig rig;
  FakeServingModelOptions another;
  another.id = std::string(64, 'c');
  PutReady<RerankGeneration>(
      &rig.generations, rig.images.manifest,
      OpenForRerank(rig.images, {std::make_shared<FakeServingModel>(another), rig.fine}, {0, 1}));
  CHECK(absl::IsFailedPrecondition(
      rig.Rerank(rig.Texts("fish", {StoredRef{rig.images.ref(), 0, 0}})).status()));
}

TEST_CASE("a row that the shard does not have is the caller's mistake") {
  Rig rig;
  for (const int64_t row : {int64_t{-1}, int64_t{1000}}) {
    CHECK(absl::IsInvalidArgument(
        rig.Rerank(rig.Texts("fish", {StoredRef{rig.images.ref(), 0, row}})).status()));
  }
}

TEST_CASE("a full queue refuses the request and frees what it had queued") {
  RerankEngineOptions options;
  options.batching.max_batch_cost = 4;
  options.batching.max_queue_cost = 6;
  Rig rig(options);
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  const Scored refused =
      rig.Rerank(rig.Texts("one", {Image("a"), Image("b"), Image("c"), Image("d")}));
  CHECK(absl::IsResourceExhausted(refused.status()));
  CHECK(rig.engine->stats().queued_tasks == 0);
  CHECK(rig.engine->stats().dropped_tasks == 3);
  release.Open();
  CHECK(first->Get().ok());
  CHECK(rig.model->pair_batches() == std::vector<int>{1});
}

TEST_CASE("a pair that fits into no batch is the caller's mistake") {
  RerankEngineOptions options;
  options.batching.max_batch_cost = 3;
  Rig rig(options);
  CHECK(absl::IsInvalidArgument(rig.Rerank(rig.Texts("one two", {Image("a b")})).status()));
}

TEST_CASE("calls end at their deadline or cancellation while the worker is busy") {
  Rig rig;
  CHECK(absl::IsDeadlineExceeded(
      rig.engine->RerankCandidates(rig.Texts("late", {Image("x")}), rig.Call(absl::ZeroDuration()))
          .status()));
  Gate entered, release;
  rig.model->HoldNextBatch(&entered, &release);
  auto first = rig.Start(rig.Texts("first", {Image("x")}));
  entered.Wait();
  auto late = rig.Start(rig.Texts("late", {Image("x")}), rig.Call(absl::Milliseconds(20)));
  const CallContext call = rig.Call();
  auto gone = rig.Start(rig.Texts("gone", {Image("x"), Image("y")}), call);
  rig.AwaitQueued(3);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(gone->Get().status()));
  rig.clock.Advance(absl::Milliseconds(20));
  CHECK(absl::IsDeadlineExceeded(late->Get().status()));
  release.Open();
  CHECK(first->Get().ok());
}

TEST_CASE("a request holds one to max_candidates candidates") {
  RerankEngineOptions options;
  options.max_candidates = 2;
  Rig rig(options);
  for (const auto& candidates :
       {std::vector<RerankSide>{}, std::vector<RerankSide>{Image("a"), Image("b"), Image("c")}}) {
    const absl::Status status = rig.Rerank(rig.Texts("fish", candidates)).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(GetFields(status) == std::vector<std::string>{"candidates"});
  }
  rig.engine->Drain();
  CHECK(absl::IsUnavailable(rig.Rerank(rig.Texts("fish", {Image("a")})).status()));
}

// What the features' file of shard 1 does to a request, and what is held afterwards.
struct Trouble {
  absl::Status answer;
  HoldState state;
  absl::Status refusal;
};

Trouble AskForStored(Rig& rig) {
  const absl::Status answer =
      rig.Rerank(rig.Texts("red fish", {StoredRef{rig.images.ref(), 1, 2}})).status();
  const auto entry = rig.generations.table()->Get("images", "g1");
  return {answer, entry->state, entry->refusal};
}

TEST_CASE("features that cannot be read take their generation out of ready, and name the file") {
  Rig rig;
  const std::string file = rig.images.manifest.shards(1).features().path();
  for (const int error : {EIO, ESTALE, kShortRead}) {
    CAPTURE(error);
    Rig fresh;
    const FailingReads failing({file, error});
    const Trouble trouble = AskForStored(fresh);
    CHECK(absl::IsUnavailable(trouble.answer));
    CHECK(IsFailedRead(trouble.answer));
    CHECK_THAT(std::string(trouble.answer.message()), Catch::Contains(file));
    CHECK(trouble.state == HoldState::kRefused);
    CHECK_THAT(std::string(trouble.refusal.message()), Catch::Contains(file));
    // The next one is told so without a look at the disk.
    const int reads = failing.reads();
    CHECK(HasReason(AskForStored(fresh).answer, reasons::kGenerationNotHeld));
    CHECK(failing.reads() == reads);
    // Another generation goes on.
    CHECK(fresh.generations.table()->Get("captions", "g1")->state == HoldState::kReady);
  }
}

TEST_CASE("features that are damaged are data loss, never a score") {
  Rig rig;
  const FailingReads failing({rig.images.manifest.shards(1).features().path(), kFlippedBit});
  const Trouble trouble = AskForStored(rig);
  CHECK(absl::IsDataLoss(trouble.answer));
  CHECK(HasReason(trouble.answer, reasons::kChecksumMismatch));
  CHECK(trouble.state == HoldState::kRefused);
}

TEST_CASE("a call that is over begins no other read") {
  Rig rig;
  const std::string file = rig.images.manifest.shards(1).features().path();
  const StoredRef item{rig.images.ref(), 1, 2};
  const auto reads = [&](const std::vector<RerankSide>& candidates) {
    const CallContext call = rig.Call(absl::Seconds(1));
    const FailingReads slow({file, kHanging, 0, [&] { rig.clock.SetTime(call.deadline()); }});
    CHECK(absl::IsDeadlineExceeded(
        rig.engine->RerankCandidates(rig.Texts("fish", candidates), call).status()));
    return slow.reads();
  };
  const int of_one = reads({item});
  CHECK(of_one > 0);
  CHECK(reads({item, item, item}) == of_one);
}

TEST_CASE("requests whose reads hang leave others their place") {
  RerankEngineOptions options;
  options.max_reading = 1;
  Rig rig(options);
  const RerankRequest stored = rig.Texts("fish", {StoredRef{rig.images.ref(), 1, 2}});
  const RerankRequest upload = rig.Texts("fish", {Image("a")});
  Gate entered, release;
  const auto hang = [&] {
    entered.Open();
    release.Wait();
  };
  const FailingReads hanging({rig.images.manifest.shards(1).features().path(), kHanging, 0, hang});
  auto first = rig.Start(stored);
  entered.Wait();
  const absl::Status refused = rig.Rerank(stored).status();
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(HasReason(refused, reasons::kReadsBusy));
  CHECK(rig.Rerank(upload).ok());
  release.Open();
  CHECK(first->Get().ok());
  CHECK(rig.Rerank(stored).ok());
}

TEST_CASE("a row that is not there is the caller's mistake and nobody else's") {
  Rig rig;
  const absl::Status status =
      rig.Rerank(rig.Texts("red fish", {StoredRef{rig.images.ref(), 1, 10'000}})).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(rig.generations.table()->Get("images", "g1")->state == HoldState::kReady);
}

}  // namespace
}  // namespace sightline
