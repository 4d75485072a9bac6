// The job over corpora of regions: all that it does with pictures, without a decoder.
#include <atomic>
#include <filesystem>
#include <memory>

#include "common/base/files.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

FakeCorpus RegionCorpus(int count = 40) {
  FakeCorpus corpus;
  corpus.AddManyRegions(count);
  return corpus;
}

// There is nobody to start a decoder: the job would crash if it asked for one.
absl::StatusOr<EncodeSummary> Run(const std::string& store, const FakeCorpus& corpus,
                                  const FakeModelBehavior& behavior = {}) {
  DecoderPool decoders(nullptr, absl::Seconds(60));
  return RunTestJob(TestJobOptions(store), corpus, &decoders, behavior);
}

TEST_CASE("regions are encoded without a decoder, and equal runs give equal bytes") {
  const TempDir first, second;
  const auto summary = Run(first.path(), RegionCorpus());
  REQUIRE(summary.ok());
  REQUIRE(summary->image_count == 40);
  REQUIRE(summary->caption_count == 40);
  REQUIRE(summary->published);
  REQUIRE(summary->decode.item_count == 0);
  REQUIRE(Run(second.path(), RegionCorpus()).ok());
  REQUIRE(PublishedFiles(first.path()) == PublishedFiles(second.path()));
  REQUIRE(Run(first.path(), RegionCorpus())->already_there);
}

TEST_CASE("units that are encoded at once make what they make one after another") {
  const TempDir one, many;
  const auto summary = Run(one.path(), RegionCorpus());
  REQUIRE(summary.ok());
  DecoderPool decoders(nullptr, absl::Seconds(60));
  CorpusEncoderOptions options = TestJobOptions(many.path());
  options.device = std::make_shared<DeviceTimeline>(Clock::Real());
  FakeModelBehavior behavior;
  std::atomic<int> batches{0};
  behavior.before_images = [&] { ++batches; };
  const auto at_once = RunTestJob(options, RegionCorpus(), &decoders, behavior);
  REQUIRE(at_once.ok());
  CHECK(batches == at_once->unit_count + 1);  // an item is tried before
  CHECK(at_once->encoded_image_count == summary->encoded_image_count);
  CHECK(at_once->encoded_caption_count == summary->encoded_caption_count);
  CHECK(at_once->device.has_value());
  CHECK(PublishedFiles(one.path()) == PublishedFiles(many.path()));
}

TEST_CASE("a run that was lost before the end goes on with the units that are there") {
  const TempDir store;
  const auto whole = Run(store.path(), RegionCorpus());
  REQUIRE(whole.ok());
  REQUIRE(whole->unit_count > 2);
  const auto files = PublishedFiles(store.path());
  std::filesystem::remove_all(store.path() + "/indexes");
  const auto again = Run(store.path(), RegionCorpus());
  REQUIRE(again.ok());
  REQUIRE(again->reused_unit_count == whole->unit_count);
  REQUIRE(again->encoded_image_count == 0);
  REQUIRE(PublishedFiles(store.path()) == files);
}

TEST_CASE("what has not changed is carried over; other numbers, words or boxes are encoded") {
  const TempDir store;
  FakeCorpus corpus = RegionCorpus();
  REQUIRE(Run(store.path(), corpus).ok());
  corpus.regions["r/3"].features[5] += 1;
  corpus.regions["r/4"].boxes = {0, 0, 1, 1, 0, 0, 1, 1};
  corpus.regions["r/5"].confidences = {1, 0.5f};
  for (CorpusItem& item : corpus.listing.items) {
    if (item.item_id == "r/6") item.tags.push_back("sign");
    if (item.item_id == "r/7") item.ocr_tokens.push_back("STOP");
    if (item.item_id == "r/8") item.path = "/elsewhere";  // of the record alone
  }
  const auto summary = Run(store.path(), corpus);
  REQUIRE(summary.ok());
  REQUIRE(summary->carried_image_count == 35);
  REQUIRE(summary->encoded_image_count == 5);
}

TEST_CASE("items that cannot be read, or that the model refuses, go to quarantine") {
  const TempDir store;
  FakeCorpus corpus = RegionCorpus();
  corpus.read_errors["r/9"] = absl::InvalidArgumentError("has no regions");
  corpus.regions["r/12"].features[0] = 99;
  FakeModelBehavior behavior;
  behavior.refused_feature = 99;
  const auto summary = Run(store.path(), corpus, behavior);
  REQUIRE(summary.ok());
  REQUIRE(summary->image_count == 38);
  REQUIRE(summary->caption_count == 38);
  REQUIRE(summary->quarantined_image_count == 2);
  const std::string ledger = *ReadFile(store.path() + "/indexes/images/generations/" +
                                       summary->generation + "/quarantine.jsonl");
  REQUIRE_THAT(ledger, Catch::Contains("has no regions") && Catch::Contains("too few regions"));
}

TEST_CASE("regions that change on the way end the job, which then goes on") {
  const TempDir store;
  auto options = TestJobOptions(store.path());
  options.read_threads = options.decode_threads = 1;
  // Then several units are encoded at once.
  if (GENERATE(false, true)) options.device = std::make_shared<DeviceTimeline>(Clock::Real());
  int reads = 0;
  auto reader = std::make_unique<FakeCorpus>(RegionCorpus());
  FakeCorpus* const own = reader.get();
  own->before_read = [own, &reads](const CorpusItem&) {
    if (++reads == 50) own->regions["r/39"].features[1] = 1000;
  };
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(reader));
  DecoderPool decoders(nullptr, absl::Seconds(60));
  Progress progress({}, Clock::Real());
  CorpusEncoderJob job(options, std::move(corpora),
                       MakeCorpusModels(std::make_shared<FakeModel>(), {}), FakeModel::Embedding(),
                       &decoders, Clock::Real(), &progress);
  const absl::Status status = job.Run(CallContext::Unbounded()).status();
  REQUIRE(absl::IsAborted(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("changed while the job"));
}

TEST_CASE("models and corpora that do not fit are told at the start, before anything is read") {
  const TempDir store;
  const auto problem = [&](FakeCorpus corpus, const FakeModelBehavior& behavior) {
    corpus.before_read = [](const CorpusItem&) { throw std::runtime_error("read"); };
    const absl::Status status = Run(store.path(), corpus, behavior).status();
    REQUIRE(absl::IsFailedPrecondition(status));
    return std::string(status.message());
  };
  FakeModelBehavior wide, blind, pixels_only;
  wide.feature_sizes = {2048, 2054};
  blind.extractor = false;
  pixels_only.feature_sizes = {};
  REQUIRE_THAT(problem(RegionCorpus(), wide),
               Catch::Contains("features of 3 numbers") && Catch::Contains("2048 or 2054"));
  REQUIRE_THAT(problem(RegionCorpus(), pixels_only), Catch::Contains("pictures only"));
  FakeCorpus pictures;
  pictures.AddMany(3);
  REQUIRE_THAT(problem(pictures, blind), Catch::Contains("has no region extractor"));
  REQUIRE(Run(store.path(), RegionCorpus(), blind).ok());
}

TEST_CASE("a corpus of which the models take nothing is told before it is encoded") {
  const TempDir store;
  FakeCorpus corpus = RegionCorpus();
  for (auto& [id, regions] : corpus.regions) regions.features[0] = 99;
  FakeModelBehavior refuses;
  refuses.refused_feature = 99;
  int batches = 0;
  refuses.before_images = [&batches] { ++batches; };
  const absl::Status status = Run(store.path(), corpus, refuses).status();
  INFO(status);
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("none of 8 items that were tried of 40") &&
                   Catch::Contains("model " + std::string(64, 'a') + ": ") &&
                   Catch::Contains("too few regions") && Catch::Contains("r/0 of /pictures/r/0"));
  REQUIRE(batches == 8);
  // Bad ones alone do not end a job that has good ones.
  corpus = RegionCorpus();
  for (const char* id : {"r/0", "r/13"}) corpus.regions[id].features[0] = 99;
  REQUIRE(Run(store.path(), corpus, refuses)->quarantined_image_count == 2);
}

}  // namespace
}  // namespace sightline
