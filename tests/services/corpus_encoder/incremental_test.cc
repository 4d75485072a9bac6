// Runs that carry over what has not changed.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "common/bundle/container.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Files = std::map<std::string, std::string>;

absl::StatusOr<EncodeSummary> Run(const TempDir& store, const FakeCorpus& corpus,
                                  const std::string& base = "", int shard_count = 2,
                                  const FakeModelBehavior& behavior = {}) {
  TestDecoders decoders;
  CorpusEncoderOptions options = TestJobOptions(store.path());
  options.base = base;
  options.shard_count = shard_count;
  return RunTestJob(options, corpus, decoders.pool(), behavior);
}

FakeCorpus Before() {
  FakeCorpus corpus;
  corpus.AddMany(80);
  return corpus;
}

// One new, one gone, one changed picture, one changed caption, one of other tags.
FakeCorpus After() {
  FakeCorpus corpus = Before();
  corpus.Add("p/400", EncodePng(Gradient(5, 5)), {"a new one"});
  corpus.pictures["p/10"] = EncodePng(Gradient(6, 6));
  auto& items = corpus.listing.items;
  items[21].captions[0].text = "quite another caption here";
  items[30].tags = {"another tag"};
  items.erase(items.begin() + 40);
  return corpus;
}

// The files of one generation in both indexes, without what names its parent.
Files FilesOf(const TempDir& store, const std::string& generation) {
  Files files;
  for (auto& [path, content] : PublishedFiles(store.path())) {
    if (!absl::StrContains(path, generation)) continue;
    files[path] =
        std::regex_replace(content, std::regex(",\n *\"parent_generation\": \"[^\"]*\""), "");
  }
  REQUIRE(files.size() == 2 * (4 + 2 * 3));
  return files;
}

TEST_CASE("only what changed is encoded, and the result is that of a full run, byte for byte") {
  TempDir store, full;
  const auto first = Run(store, Before());
  REQUIRE(first.ok());
  REQUIRE(first->base == "");
  const auto second = Run(store, After());
  REQUIRE(second.ok());
  REQUIRE(second->base == first->generation);
  REQUIRE(second->encoded_image_count == 3);  // new, changed, changed caption
  REQUIRE(second->carried_image_count == 77);
  REQUIRE(second->image_count == 80);
  const auto whole = Run(full, After());
  REQUIRE(whole.ok());
  REQUIRE(whole->carried_image_count == 0);
  REQUIRE(second->generation == whole->generation);
  REQUIRE(FilesOf(store, second->generation) == FilesOf(full, whole->generation));
  for (const char* index : {"images", "captions"}) {
    REQUIRE(ReadGenerationManifest(store.path(), index, second->generation)->parent_generation() ==
            first->generation);
  }
  REQUIRE_THAT(second->Report(), Catch::Contains("77 images") &&
                                     Catch::Contains("from generation " + first->generation));
}

TEST_CASE("the same sequence of runs gives the same bytes, parents and all") {
  Files results[2];
  for (Files& result : results) {
    TempDir store;
    REQUIRE(Run(store, Before()).ok());
    REQUIRE(Run(store, After()).ok());
    REQUIRE(Run(store, Before()).ok());
    result = PublishedFiles(store.path());
  }
  REQUIRE(results[0] == results[1]);
}

TEST_CASE("items are carried into another number of shards") {
  TempDir store, full;
  REQUIRE(Run(store, Before()).ok());
  const auto second = Run(store, Before(), "", 3);
  REQUIRE(second.ok());
  REQUIRE(second->encoded_image_count == 0);
  const auto whole = Run(full, Before(), "", 3);
  REQUIRE(PublishedFiles(full.path())
              .at("images/generations/" + whole->generation + "/shards/00002-of-00003.vectors") ==
          PublishedFiles(store.path())
              .at("images/generations/" + second->generation + "/shards/00002-of-00003.vectors"));
}

TEST_CASE("a base may be named, or none") {
  TempDir store;
  const auto first = Run(store, Before());
  const auto second = Run(store, After());
  FakeCorpus third = After();
  third.Add("p/500", EncodePng(Gradient(9, 5)), {"one more"});
  const auto from_first = Run(store, third, first->generation);
  REQUIRE(from_first.ok());
  REQUIRE(from_first->base == first->generation);
  REQUIRE(from_first->encoded_image_count == 4);
  third.Add("p/600", EncodePng(Gradient(9, 6)), {"and one more"});
  const auto from_none = Run(store, third, "none");
  REQUIRE(from_none.ok());
  REQUIRE(from_none->base == "");
  REQUIRE(from_none->carried_image_count == 0);
  REQUIRE(
      ReadGenerationManifest(store.path(), "images", from_none->generation)->parent_generation() ==
      from_first->generation);

  third.Add("p/700", EncodePng(Gradient(9, 7)), {"and one more"});
  REQUIRE(absl::IsNotFound(Run(store, third, "missing").status()));
}

TEST_CASE("a base of another model is left alone, or refused when it was asked for") {
  TempDir store;
  const auto first = Run(store, Before());
  FakeModelBehavior other;
  other.id = std::string(64, 'b');
  const auto second = Run(store, Before(), "", 2, other);
  REQUIRE(second.ok());
  REQUIRE(second->base == "");
  REQUIRE(second->carried_image_count == 0);
  FakeModelBehavior third;
  third.id = std::string(64, 'c');
  const absl::Status refused = Run(store, Before(), first->generation, 2, third).status();
  REQUIRE(absl::IsFailedPrecondition(refused));
  REQUIRE_THAT(std::string(refused.message()), Catch::Contains("has the encoder aaa"));
}

TEST_CASE("nothing is carried over from rows of another dtype, and all from rows of the same") {
  TempDir store;
  TestDecoders decoders;
  const auto first = Run(store, Before());
  CorpusEncoderOptions options = TestJobOptions(store.path());
  options.feature_dtype = Dtype::kInt8;
  options.base = first->generation;
  const absl::Status refused = RunTestJob(options, Before(), decoders.pool()).status();
  REQUIRE(absl::IsFailedPrecondition(refused));
  REQUIRE_THAT(std::string(refused.message()),
               Catch::Contains("has item features in float16, not int8"));
  options.base = "";
  const auto packed = RunTestJob(options, Before(), decoders.pool());
  REQUIRE(packed.ok());
  REQUIRE(packed->base == "");
  REQUIRE(packed->carried_image_count == 0);
  const auto next = RunTestJob(options, After(), decoders.pool());
  REQUIRE(next.ok());
  REQUIRE(next->base == packed->generation);
  REQUIRE(next->carried_image_count == 77);
}

TEST_CASE(
    "nothing is carried over from vectors of another dtype, and all from vectors of the same") {
  TempDir store, full;
  TestDecoders decoders;
  const auto first = Run(store, Before());
  CorpusEncoderOptions options = TestJobOptions(store.path());
  options.vector_dtype = Dtype::kFloat16;
  options.base = first->generation;
  const absl::Status refused = RunTestJob(options, Before(), decoders.pool()).status();
  REQUIRE(absl::IsFailedPrecondition(refused));
  REQUIRE_THAT(std::string(refused.message()),
               Catch::Contains("has vectors in float32, not float16"));
  options.base = "";
  const auto halves = RunTestJob(options, Before(), decoders.pool());
  REQUIRE(halves.ok());
  REQUIRE(halves->generation != first->generation);
  REQUIRE(halves->base == "");
  REQUIRE(halves->carried_image_count == 0);
  const auto next = RunTestJob(options, After(), decoders.pool());
  REQUIRE(next.ok());
  REQUIRE(next->base == halves->generation);
  REQUIRE(next->carried_image_count == 77);
  REQUIRE(ReadGenerationManifest(store.path(), "images", next->generation)->vector_dtype() ==
          "float16");
  // As if all of it had been encoded.
  options.store = full.path();
  const auto whole = RunTestJob(options, After(), decoders.pool());
  REQUIRE(whole.ok());
  REQUIRE(FilesOf(store, next->generation) == FilesOf(full, whole->generation));
}

TEST_CASE("what is carried over brings the features of every reranker along") {
  TempDir store, full;
  TestDecoders decoders;
  const auto run = [&](const TempDir& at, const FakeCorpus& corpus,
                       std::vector<CorpusModels::Reranker> rerankers) {
    return RunTestJob(TestJobOptions(at.path()), corpus, decoders.pool(), {},
                      CallContext::Unbounded(), {}, std::move(rerankers));
  };
  const auto both = [] {
    return std::vector<CorpusModels::Reranker>{TestReranker("default", 'b'),
                                               TestReranker("fine", 'c')};
  };
  REQUIRE(run(store, Before(), both()).ok());
  const auto second = run(store, After(), both());
  REQUIRE(second.ok());
  REQUIRE(second->carried_image_count == 77);
  const auto whole = run(full, After(), both());
  REQUIRE(whole.ok());
  REQUIRE(FilesOf(store, second->generation) == FilesOf(full, whole->generation));

  // Another set of rerankers has features that the base lacks.
  const auto one = run(store, After(), {TestReranker("default", 'b')});
  REQUIRE(one.ok());
  REQUIRE(one->carried_image_count == 0);
}

// Flips a bit of the features, which only their checksums see.
void Damage(const TempDir& store, const std::string& generation) {
  const std::string path = store.path() + "/indexes/images/generations/" + generation +
                           "/shards/00000-of-00002.features";
  const auto container = Container::Open(path);
  REQUIRE(container.ok());
  const std::vector<Section>& sections = (*container)->sections();
  const auto features =
      std::max_element(sections.begin(), sections.end(),
                       [](const Section& a, const Section& b) { return a.length < b.length; });
  std::string bytes = *ReadFile(path);
  bytes[features->offset] = static_cast<char>(bytes[features->offset] ^ 1);
  REQUIRE(WriteFileAtomically(path, bytes).ok());
}

TEST_CASE("a damaged base is left alone before anything is encoded, or refused when named") {
  TempDir store;
  const auto first = Run(store, Before());
  Damage(store, first->generation);
  REQUIRE(absl::IsDataLoss(Run(store, After(), first->generation).status()));
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  const auto second = Run(store, After());
  REQUIRE(second.ok());
  REQUIRE(second->carried_image_count == 0);
}

TEST_CASE("a base that is damaged while the job runs ends it, and nothing is published") {
  TempDir store;
  const auto first = Run(store, Before());
  const std::string path = store.path() + "/indexes/images/generations/" + first->generation +
                           "/shards/00000-of-00002.vectors";
  const int64_t embeddings = (*Container::Open(path))->Find("embeddings")->offset;
  FakeCorpus after = After();
  // A new picture is read by the scan, and again when it is encoded: when the base has been
  // verified and divided by.
  int reads = 0;
  after.before_read = [&](const CorpusItem& item) {
    if (item.item_id == "p/400" && ++reads == 2) CorruptInPlace(path, embeddings);
  };
  const absl::Status status = Run(store, after, first->generation).status();
  REQUIRE(reads == 2);
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  REQUIRE(ListDirectory(store.path() + "/indexes/images/generations")->size() == 1);
  // The next run finds it before it encodes anything.
  const auto second = Run(store, After());
  REQUIRE(second.ok());
  REQUIRE(second->carried_image_count == 0);
}

TEST_CASE("a base that cannot be read for a moment ends the job, and nothing of it is lost") {
  TempDir store;
  const auto first = Run(store, Before());
  const std::string base_file = first->generation + "/shards/00000-of-00002.vectors";
  // One read further each time, from opening the base to looking up the first item.
  std::string problem;
  for (int healthy = 0; !absl::StrContains(problem, "what has changed since"); ++healthy) {
    REQUIRE(healthy < 100);
    const FailingReads failing({base_file, EIO, healthy});
    const absl::Status status = Run(store, After()).status();
    CAPTURE(healthy);
    REQUIRE(absl::IsUnavailable(status));
    problem = std::string(status.message());
  }
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  const auto second = Run(store, After());
  REQUIRE(second.ok());
  REQUIRE(second->carried_image_count == 77);
}

TEST_CASE("what is damaged in a base does not matter when nothing is carried over") {
  TempDir store;
  const auto first = Run(store, Before());
  Damage(store, first->generation);
  FakeCorpus other;
  for (int i = 0; i < 3; ++i) other.Add(absl::StrCat("q/", i), EncodePng(Gradient(9, 3 + i)));
  const auto second = Run(store, other, first->generation);
  REQUIRE(second.ok());
  REQUIRE(second->base == first->generation);
}

TEST_CASE("a caption that was refused before is tried again, with its picture") {
  TempDir store;
  FakeCorpus corpus = Before();
  corpus.listing.items[0].captions[0].text = "untokenizable";
  REQUIRE(Run(store, corpus)->quarantined_caption_count == 1);
  corpus.Add("p/400", EncodePng(Gradient(5, 5)), {"a new one"});
  const auto second = Run(store, corpus);
  REQUIRE(second.ok());
  REQUIRE(second->encoded_image_count == 2);
  REQUIRE(second->quarantined_caption_count == 1);
}

TEST_CASE("a repeated run does not undo a rollback") {
  TempDir store;
  const auto first = Run(store, Before());
  const auto second = Run(store, After());
  REQUIRE(second.ok());
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  const auto again = Run(store, After());
  REQUIRE(again.ok());
  REQUIRE(!again->published);
  REQUIRE_THAT(again->Report(), Catch::Contains("rolled back") && Catch::Contains("publish"));
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  REQUIRE(ReadCurrent(store.path(), "captions")->generation() == second->generation);
  // What was served before the one that is now may be published again by a run.
  REQUIRE(PublishGeneration(store.path(), "images", second->generation).ok());
  REQUIRE(Run(store, Before())->published);
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
}

TEST_CASE("a unit that the disk cannot read is made anew") {
  TempDir store;
  REQUIRE(Run(store, Before()).ok());
  const auto expected = PublishedFiles(store.path());
  const std::string units = store.path() + "/work/images/units/";
  const std::vector<std::string> names = *ListFilesBelow(units);
  const std::string path = units + names.at(0);
  const auto inode = [&] {
    struct stat info = {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_ino;
  };
  std::filesystem::remove_all(store.path() + "/indexes");
  const auto before = inode();
  {
    // A new file lies elsewhere on a disk; here it cannot be read either.
    const FailingReads failing({path, EIO});
    const absl::Status status = Run(store, Before()).status();
    REQUIRE(absl::IsUnavailable(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  }
  REQUIRE(inode() != before);
  REQUIRE(Run(store, Before()).ok());
  REQUIRE(PublishedFiles(store.path()) == expected);
}

// Kills the decoder of one picture.
absl::StatusOr<Pixels> DieOfSlow(absl::string_view bytes, const DecodeLimits& limits) {
  absl::StatusOr<Pixels> pixels = DecodeImage(bytes, limits);
  if (pixels.ok() && pixels->width == 77) ::raise(SIGKILL);
  return pixels;
}

TEST_CASE("a run that was killed between its two manifests gives no two collections one name") {
  TempDir store, whole;
  FakeCorpus corpus = Before();
  corpus.Add("q/slow", EncodePng(Gradient(77, 77)), {"takes long"});
  CorpusEncoderOptions options = TestJobOptions(store.path());
  options.publish = false;
  options.max_quarantine_share = 0.5;
  std::string generation;
  {
    TestDecoders decoders(DieOfSlow);
    const auto first = RunTestJob(options, corpus, decoders.pool());
    REQUIRE(first.ok());
    REQUIRE(first->quarantined_image_count == 1);
    generation = first->generation;
  }
  REQUIRE(std::remove((GenerationDirectory(store.path(), "captions", generation) + "/manifest.json")
                          .c_str()) == 0);
  options.publish = true;
  TestDecoders decoders;
  SECTION("the index that is there is made anew") {
    const auto second = RunTestJob(options, corpus, decoders.pool());
    INFO(second.status());
    REQUIRE(second.ok());
    REQUIRE(second->quarantined_image_count == 0);
    REQUIRE(Run(whole, corpus).ok());
    REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
  }
  SECTION("unless somebody may be serving it") {
    REQUIRE(PublishGeneration(store.path(), "images", generation).ok());
    const auto before = PublishedFiles(store.path());
    options.base = "none";
    const absl::Status refused = RunTestJob(options, corpus, decoders.pool()).status();
    REQUIRE(absl::IsAlreadyExists(refused));
    REQUIRE_THAT(std::string(refused.message()), Catch::Contains("another name"));
    REQUIRE(PublishedFiles(store.path()) == before);
  }
}

TEST_CASE("a picture that the machine had no time for is tried again by the next run") {
  TempDir store, whole;
  FakeCorpus corpus = Before();
  corpus.Add("q/slow", EncodePng(Gradient(77, 77)), {"takes long"});
  CorpusEncoderOptions options = TestJobOptions(store.path());
  // As if the job had been killed after it: too much is bad, and nothing is written.
  options.max_quarantine_share = 0;
  {
    TestDecoders decoders(DieOfSlow);
    const absl::Status bad = RunTestJob(options, corpus, decoders.pool()).status();
    REQUIRE(absl::IsFailedPrecondition(bad));
  }
  TestDecoders decoders;
  const auto summary = RunTestJob(options, corpus, decoders.pool());
  REQUIRE(summary.ok());
  REQUIRE(summary->reused_unit_count == summary->unit_count - 1);
  REQUIRE(Run(whole, corpus).ok());
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
}

}  // namespace
}  // namespace sightline
