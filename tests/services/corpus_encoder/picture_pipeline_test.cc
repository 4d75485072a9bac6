#include "services/corpus_encoder/picture_pipeline.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>

#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/bundle/rerankers.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Pictures of a corpus as a scan has them, cut into units of `unit_size` exactly.
struct Work {
  explicit Work(const FakeCorpus& corpus, size_t unit_size) {
    for (const CorpusItem& item : corpus.listing.items) {
      pictures.push_back({&corpus, item, Sha256Hex(corpus.pictures.at(item.item_id))});
    }
    for (size_t i = 0; i < pictures.size(); i += unit_size) {
      const size_t end = std::min(i + unit_size, pictures.size());
      units.push_back({"hash", {pictures.begin() + i, pictures.begin() + end}});
    }
  }

  // Gives the units one after another.
  PicturePipeline::UnitSource Source() const {
    return [this, next = size_t{0}](WorkUnit* unit) mutable -> absl::StatusOr<bool> {
      if (next == units.size()) return false;
      *unit = units[next++];
      return true;
    };
  }

  std::vector<ScannedPicture> pictures;
  std::vector<WorkUnit> units;
};

// Keeps pictures down to `side`; 0 leaves them alone.
class Reducer : public RegionExtractor {
 public:
  explicit Reducer(int side) : side_(side) {}
  absl::StatusOr<std::vector<RegionSet>> Extract(absl::Span<const Pixels>,
                                                 const CallContext&) const override {
    return absl::UnimplementedError("not here");
  }
  Pixels Reduce(Pixels image) const override {
    return side_ == 0 ? image : ShrinkTowards(std::move(image), side_);
  }

 private:
  const int side_;
};

// The same, told as a number.
class SideReducer : public Reducer {
 public:
  explicit SideReducer(int side) : Reducer(side), side_(side) {}
  Pixels Reduce(Pixels) const override { throw std::logic_error("it was reduced already"); }
  int64_t reduced_side() const override { return side_; }

 private:
  const int side_;
};

const Reducer whole(0);

TEST_CASE("units come in order with their pictures in order, on any number of threads") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(100);
  const Work work(corpus, 7);
  for (const int threads : {1, 2, 5}) {
    PipelineOptions options;
    options.threads = threads;
    PicturePipeline pipeline(work.Source(), options, {&whole}, decoders.pool(),
                             CallContext::Unbounded());
    int i = 0;
    for (const WorkUnit& unit : work.units) {
      const auto decoded = pipeline.Next();
      REQUIRE(decoded.ok());
      REQUIRE((*decoded)->unit.pictures.size() == unit.pictures.size());
      REQUIRE((*decoded)->pictures.size() == unit.pictures.size());
      for (const DecodedPicture& picture : (*decoded)->pictures) {
        REQUIRE(picture.problem.empty());
        REQUIRE(picture.pixels[0]->width == 4 + i % 5);
        REQUIRE(picture.pixels[0]->rgb[0] == i);
        ++i;
      }
    }
    REQUIRE(!pipeline.Next()->has_value());
    REQUIRE(pipeline.stats().picture_count == 100);
  }
}

TEST_CASE("a picture that does not decode has a problem, its neighbours have none") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(3);
  corpus.Add("text", "just text");
  corpus.Add("broken", EncodePng(Gradient(50, 50)).substr(0, 200));
  corpus.Add("huge", EncodePng(Gradient(101, 1)));
  corpus.AddMany(1);
  const Work work(corpus, 100);
  PipelineOptions options;
  options.limits.max_pixels = 2500;
  options.limits.max_side = 100;
  PicturePipeline pipeline(work.Source(), options, {&whole}, decoders.pool(),
                           CallContext::Unbounded());
  const auto decoded = pipeline.Next();
  REQUIRE(decoded.ok());
  for (const size_t i : {0, 1, 2, 6}) REQUIRE((*decoded)->pictures[i].problem.empty());
  for (const size_t i : {3, 4, 5}) {
    REQUIRE(!(*decoded)->pictures[i].problem.empty());
    REQUIRE((*decoded)->pictures[i].pixels.empty());
  }
  REQUIRE_THAT((*decoded)->pictures[5].problem, Catch::Contains("101"));
}

TEST_CASE("each extractor reduces pictures its own way before they wait") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.Add("a", EncodePng(Gradient(40, 40)));
  const Work work(corpus, 1);
  const Reducer small(10), large(20);
  PicturePipeline pipeline(work.Source(), {}, {&small, &large}, decoders.pool(),
                           CallContext::Unbounded());
  const auto decoded = pipeline.Next();
  REQUIRE(decoded.ok());
  REQUIRE((*decoded)->pictures[0].pixels.size() == 2);
  REQUIRE((*decoded)->pictures[0].pixels[0]->width == 10);
  REQUIRE((*decoded)->pictures[0].pixels[1]->width == 20);
}

TEST_CASE("as many extractors as a generation has models get their pictures, equal ones share") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(35);
  const Work work(corpus, 8);
  const SideReducer encoder(20), other(10);
  const Reducer own(3);
  std::vector<const RegionExtractor*> extractors(1 + limits::kMaxRerankers, &encoder);
  extractors[2] = &other;
  extractors[5] = extractors[8] = &own;
  PicturePipeline pipeline(work.Source(), {}, extractors, decoders.pool(),
                           CallContext::Unbounded());
  for (size_t unit = 0; unit < work.units.size(); ++unit) {
    const auto decoded = pipeline.Next();
    REQUIRE(decoded.ok());
    for (const DecodedPicture& picture : (*decoded)->pictures) {
      REQUIRE(picture.problem.empty());
      REQUIRE(picture.pixels.size() == extractors.size());
      for (const size_t i : {1, 3, 4, 6, 7}) REQUIRE(picture.pixels[i] == picture.pixels[0]);
      REQUIRE(picture.pixels[8]->rgb == picture.pixels[5]->rgb);
      REQUIRE(picture.pixels[5]->rgb == ShrinkTowards(*picture.pixels[0], 3).rgb);
    }
  }
}

TEST_CASE("decoding stays within its units ahead") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(60);
  std::atomic<int> furthest{0};
  corpus.before_read = [&](const CorpusItem& item) {
    const int i = std::stoi(item.item_id.substr(2));
    int seen = furthest;
    while (i > seen && !furthest.compare_exchange_weak(seen, i)) {
    }
  };
  const Work work(corpus, 5);
  PipelineOptions options;
  options.threads = 3;
  options.units_ahead = 1;
  PicturePipeline pipeline(work.Source(), options, {&whole}, decoders.pool(),
                           CallContext::Unbounded());
  for (int delivered = 1; delivered <= 12; ++delivered) {
    // Not before the call may anything of a later unit be read.
    REQUIRE(furthest < (delivered + 1) * 5);
    REQUIRE(pipeline.Next().ok());
  }
}

TEST_CASE("an error of what gives the units ends it") {
  TestDecoders decoders;
  PicturePipeline pipeline(
      [](WorkUnit*) -> absl::StatusOr<bool> { return absl::UnavailableError("disk"); }, {},
      {&whole}, decoders.pool(), CallContext::Unbounded());
  REQUIRE(absl::IsUnavailable(pipeline.Next().status()));
}

TEST_CASE("a small budget decodes one picture after another and still gets to the end") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(20);
  const Work work(corpus, 4);
  PipelineOptions options;
  options.threads = 4;
  options.max_decode_bytes = 1;
  PicturePipeline pipeline(work.Source(), options, {&whole}, decoders.pool(),
                           CallContext::Unbounded());
  for (size_t i = 0; i < work.units.size(); ++i) REQUIRE(pipeline.Next().ok());
}

TEST_CASE("trouble of the machine is passed on, and no change of the picture") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(3);
  const Work work(corpus, 5);
  corpus.read_errors["p/1"] = absl::ResourceExhaustedError("too many open files");
  PipelineOptions options;
  options.on_change = [](const ScannedPicture&) { throw std::logic_error("nothing changed"); };
  PicturePipeline pipeline(work.Source(), options, {&whole}, decoders.pool(),
                           CallContext::Unbounded());
  REQUIRE(absl::IsResourceExhausted(pipeline.Next().status()));
}

TEST_CASE("a picture that changed since the scan stops the job") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(10);
  const Work work(corpus, 5);
  corpus.pictures["p/7"] = EncodePng(Gradient(3, 3));
  PicturePipeline pipeline(work.Source(), {}, {&whole}, decoders.pool(), CallContext::Unbounded());
  // It may be met before the unit ahead of it has been delivered.
  absl::Status status = pipeline.Next().status();
  if (status.ok()) status = pipeline.Next().status();
  REQUIRE(absl::IsAborted(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("/pictures/p/7"));

  corpus.AddMany(10);
  corpus.read_errors["p/1"] = absl::NotFoundError("gone");
  PicturePipeline second(work.Source(), {}, {&whole}, decoders.pool(), CallContext::Unbounded());
  REQUIRE(absl::IsAborted(second.Next().status()));
}

TEST_CASE("cancelling stops it, and so does leaving") {
  TestDecoders decoders;
  FakeCorpus corpus;
  corpus.AddMany(40);
  const Work work(corpus, 4);
  const CallContext call = CallContext::Unbounded();
  PicturePipeline pipeline(work.Source(), {}, {&whole}, decoders.pool(), call);
  REQUIRE(pipeline.Next().ok());
  call.cancellation()->Cancel();
  absl::Status status;
  for (int i = 0; i < 9 && status.ok(); ++i) status = pipeline.Next().status();
  REQUIRE(absl::IsCancelled(status));

  PipelineOptions options;
  options.threads = 3;
  PicturePipeline abandoned(work.Source(), options, {&whole}, decoders.pool(),
                            CallContext::Unbounded());
}

}  // namespace
}  // namespace sightline
