#include "services/corpus_encoder/corpus_encoder_job.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/index/index_builder.h"
#include "services/corpus_encoder/work_lock.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/fake_model.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Files = std::map<std::string, std::string>;

CorpusEncoderOptions Options(const TempDir& store) {
  return TestJobOptions(store.path());
}

absl::StatusOr<EncodeSummary> Run(const CorpusEncoderOptions& options, const FakeCorpus& corpus,
                                  const FakeModelBehavior& behavior = {},
                                  const CallContext& call = CallContext::Unbounded()) {
  TestDecoders decoders;
  return RunTestJob(options, corpus, decoders.pool(), behavior, call);
}

// Everything that is published, by path.
Files Published(const TempDir& store) {
  return PublishedFiles(store.path());
}

std::map<std::string, ItemRecord> Records(const TempDir& store, const std::string& index) {
  std::map<std::string, ItemRecord> records;
  const auto current = ReadCurrent(store.path(), index);
  REQUIRE(current.ok());
  const auto manifest = ReadGenerationManifest(store.path(), index, current->generation());
  REQUIRE(manifest.ok());
  const std::string directory = GenerationDirectory(store.path(), index, current->generation());
  for (const auto& shard : manifest->shards()) {
    const auto vectors = ShardVectors::Open(JoinPath(directory, shard.vectors().path()), shard,
                                            manifest->embedding().dimension());
    REQUIRE(vectors.ok());
    for (int64_t row = 0; row < (*vectors)->size(); ++row) {
      const auto record = (*vectors)->Record(row);
      REQUIRE(record.ok());
      records[record->item_id] = *record;
    }
  }
  return records;
}

FakeCorpus Corpus(int count = 60) {
  FakeCorpus corpus;
  corpus.AddMany(count);
  return corpus;
}

TEST_CASE("a corpus becomes two published generations of one name") {
  TempDir store;
  FakeCorpus corpus = Corpus();
  corpus.Add("odd", "this is no picture", {"a caption of nothing"});
  const auto summary = Run(Options(store), corpus);
  REQUIRE(summary.ok());
  REQUIRE(summary->published);
  REQUIRE(summary->image_count == 60);
  REQUIRE(summary->caption_count == 60);
  REQUIRE(summary->quarantined_image_count == 1);

  for (const char* index : {"images", "captions"}) {
    REQUIRE(ReadCurrent(store.path(), index)->generation() == summary->generation);
    const auto manifest = ReadGenerationManifest(store.path(), index, summary->generation);
    REQUIRE(manifest.ok());
    REQUIRE(manifest->shards_size() == 2);
    REQUIRE(manifest->item_count() == 60);
    REQUIRE(manifest->shards(0).item_count() > 10);
    REQUIRE(manifest->encoder_model() == std::string(64, 'a'));
    REQUIRE(manifest->reranker_model() == std::string(64, 'a'));
    REQUIRE(manifest->parent_generation() == "");
  }
  const auto images = Records(store, "images");
  const auto captions = Records(store, "captions");
  REQUIRE(images.at("p/0").caption == "picture number 0");
  REQUIRE(images.at("p/0").uri == "/pictures/p/0");
  REQUIRE(images.at("p/0").tags == std::vector<std::string>{"tag of p/0"});
  REQUIRE(images.at("p/2").caption == "");
  REQUIRE(images.count("odd") == 0);
  REQUIRE(captions.at("p/0#en-1").caption == "picture number 0");
  REQUIRE(captions.at("p/0#en-2").caption == "keywords of it");
  REQUIRE(captions.at("p/0#en-1").uri == "/pictures/p/0");
  REQUIRE(captions.count("odd#en-1") == 0);
  for (const auto& [id, record] : captions) REQUIRE(images.count(id.substr(0, id.find('#'))) == 1);

  const Files files = Published(store);
  const std::string ledger =
      files.at("images/generations/" + summary->generation + "/quarantine.jsonl");
  REQUIRE(absl::StartsWith(ledger, "{\"item_id\":\"odd\",\"path\":\"/pictures/odd\",\"reason\":"));
  REQUIRE(files.at("captions/generations/" + summary->generation + "/quarantine.jsonl") == "");
}

TEST_CASE("the same input gives the same bytes, on any number of threads") {
  TempDir first;
  REQUIRE(Run(Options(first), Corpus()).ok());
  for (const int threads : {1, 4}) {
    TempDir second;
    CorpusEncoderOptions options = Options(second);
    options.decode_threads = options.read_threads = threads;
    REQUIRE(Run(options, Corpus()).ok());
    REQUIRE(Published(second) == Published(first));
  }
}

TEST_CASE("running it again does nothing, not even a publication") {
  TempDir store;
  const auto first = Run(Options(store), Corpus());
  const Files before = Published(store);
  // As a run leaves it that is killed when the manifests are written.
  const std::string work =
      IndexWorkFolder(GenerationDirectory(store.path(), "images", first->generation));
  REQUIRE(MakeDirectories(work).ok());
  const auto second = Run(Options(store), Corpus());
  REQUIRE(second.ok());
  REQUIRE(!FileExists(work));
  REQUIRE(second->generation == first->generation);
  REQUIRE(second->already_there);
  REQUIRE(second->encoded_image_count == 0);
  REQUIRE(second->write.byte_count == 0);
  REQUIRE(second->image_count == first->image_count);
  REQUIRE(second->published);
  REQUIRE(Published(store) == before);
}

TEST_CASE("a job that is stopped goes on where it was, to the same bytes") {
  TempDir whole;
  const auto expected = Run(Options(whole), Corpus());
  REQUIRE(expected.ok());
  for (int stop_after = 0; stop_after < expected->unit_count; ++stop_after) {
    CAPTURE(stop_after);
    TempDir store;
    int batches = 0;
    const CallContext call = CallContext::Unbounded();
    FakeModelBehavior stopping;
    stopping.before_images = [&] {
      if (batches++ == stop_after) call.cancellation()->Cancel();
    };
    const absl::Status stopped = Run(Options(store), Corpus(), stopping, call).status();
    REQUIRE(absl::IsCancelled(stopped));
    REQUIRE_THAT(std::string(stopped.message()),
                 Catch::Contains(absl::StrCat("with ", stop_after, " of ", expected->unit_count)));
    REQUIRE(!FileExists(store.path() + "/indexes/images/CURRENT"));

    const auto resumed = Run(Options(store), Corpus());
    REQUIRE(resumed.ok());
    REQUIRE(resumed->reused_unit_count == stop_after);
    REQUIRE(Published(store) == Published(whole));
  }
}

TEST_CASE("half-written files and damaged units of a killed job are made anew") {
  TempDir whole, store;
  REQUIRE(Run(Options(whole), Corpus()).ok());
  CorpusEncoderOptions unpublished = Options(store);
  unpublished.publish = false;
  const auto summary = Run(unpublished, Corpus());
  REQUIRE(!summary->published);
  REQUIRE(!FileExists(store.path() + "/indexes/images/CURRENT"));
  // As if killed while writing: no manifest, a shard cut short, a unit cut short, another
  // with a flipped bit, and temporary files.
  const std::string generation = GenerationDirectory(store.path(), "images", summary->generation);
  std::filesystem::remove(generation + "/manifest.json");
  const std::string shard = generation + "/" + ShardFileName(0, 2, "vectors");
  std::filesystem::resize_file(shard, 100);
  // The younger of two half files may be somebody else's at work.
  for (const char* name : {"/old.tmp", "/young.tmp"}) {
    REQUIRE(WriteFileAtomically(generation + name, "half").ok());
  }
  std::filesystem::last_write_time(
      generation + "/old.tmp",
      std::filesystem::last_write_time(generation + "/young.tmp") - std::chrono::hours(2));
  const std::string work = store.File("work/images/");
  std::vector<std::string> units;
  const std::vector<std::string> names = *ListFilesBelow(work);
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".unit")) units.push_back(work + name);
  }
  std::filesystem::resize_file(units[0], 50);
  std::string bytes = *ReadFile(units[1]);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  REQUIRE(WriteFileAtomically(units[1], bytes).ok());
  const std::string half = units[0] + ".123.tmp";
  REQUIRE(WriteFileAtomically(half, "half").ok());

  const auto resumed = Run(Options(store), Corpus());
  REQUIRE(resumed.ok());
  REQUIRE(resumed->reused_unit_count == resumed->unit_count - 2);
  REQUIRE(Published(store) == Published(whole));
  REQUIRE(!FileExists(half));
  REQUIRE(!FileExists(generation + "/old.tmp"));
  REQUIRE(FileExists(generation + "/young.tmp"));
}

TEST_CASE("a changed corpus is a new generation with the old one as parent, little encoded") {
  TempDir store;
  const auto first = Run(Options(store), Corpus());
  FakeCorpus changed = Corpus();
  changed.Add("p/300", EncodePng(Gradient(5, 5)), {"a new one"});
  const auto second = Run(Options(store), changed);
  REQUIRE(second.ok());
  REQUIRE(second->generation != first->generation);
  REQUIRE(second->image_count == 61);
  REQUIRE(second->base == first->generation);
  REQUIRE(second->carried_image_count == 60);
  REQUIRE(second->carried_caption_count == first->caption_count);
  REQUIRE(second->encoded_image_count == 1);
  const auto manifest = ReadGenerationManifest(store.path(), "images", second->generation);
  REQUIRE(manifest->parent_generation() == first->generation);
  REQUIRE(ReadCurrent(store.path(), "images")->sequence() == 2);
  // The old generation is still whole, its units are gone.
  REQUIRE(ReadGenerationManifest(store.path(), "images", first->generation).ok());
  const std::vector<std::string> names = *ListFilesBelow(store.File("work/images"));
  const auto units = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return absl::EndsWith(name, ".unit");
  });
  REQUIRE(units == second->unit_count);

  // Captions and tags are content too.
  changed.listing.items[0].tags = {"another"};
  REQUIRE(Run(Options(store), changed)->generation != second->generation);
}

TEST_CASE("too many bad pictures or captions fail the job and leave the ledger") {
  TempDir store;
  FakeCorpus corpus = Corpus(20);
  corpus.Add("bad/1", "no picture", {});
  corpus.Add("bad/2", "none either", {});
  corpus.read_errors["p/3"] = absl::PermissionDeniedError("not yours");
  CorpusEncoderOptions options = Options(store);
  options.max_quarantine_share = 0.1;
  const absl::Status status = Run(options, corpus).status();
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("3 of 22 pictures are bad") &&
                                                  Catch::Contains("/work/images/quarantine.jsonl"));
  const std::string ledger = *ReadFile(store.File("work/images/quarantine.jsonl"));
  REQUIRE(std::count(ledger.begin(), ledger.end(), '\n') == 3);
  REQUIRE(!FileExists(store.path() + "/indexes/images/CURRENT"));

  options.max_quarantine_share = 0.2;
  REQUIRE(Run(options, corpus)->quarantined_image_count == 3);

  FakeCorpus captions = Corpus(3);
  captions.listing.items[0].captions = {{"en", "untokenizable"}};
  REQUIRE_THAT(std::string(Run(options, captions).status().message()),
               Catch::Contains("captions are bad"));

  FakeCorpus nothing;
  nothing.Add("a", "no picture");
  options.max_quarantine_share = 1;
  REQUIRE_THAT(std::string(Run(options, nothing).status().message()),
               Catch::Contains("all 1 pictures are bad"));
}

TEST_CASE("pictures without any caption make an index of captions that is empty") {
  TempDir store;
  FakeCorpus corpus;
  corpus.Add("only", EncodePng(Gradient(3, 3)));
  const auto summary = Run(Options(store), corpus);
  REQUIRE(summary.ok());
  REQUIRE(summary->image_count == 1);
  REQUIRE(summary->caption_count == 0);
  REQUIRE(Records(store, "captions").empty());
  REQUIRE(Records(store, "images").size() == 1);
}

TEST_CASE("a name that is taken by other content is refused, and what is there stays") {
  TempDir store;
  CorpusEncoderOptions options = Options(store);
  options.generation = "spring";
  REQUIRE(Run(options, Corpus(20))->generation == "spring");
  const Files before = Published(store);
  REQUIRE(Run(options, Corpus(20)).ok());
  const absl::Status status = Run(options, Corpus(21)).status();
  REQUIRE(absl::IsAlreadyExists(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("spring"));
  REQUIRE(Published(store) == before);
}

TEST_CASE("the embeddings and features of every item are those that the model gave") {
  TempDir store;
  CorpusEncoderOptions options = Options(store);
  options.shard_count = 3;
  options.feature_dtype = Dtype::kFloat32;
  const auto summary = Run(options, Corpus(30));
  REQUIRE(summary.ok());
  const std::string directory = GenerationDirectory(store.path(), "images", summary->generation);
  const auto manifest = ReadGenerationManifest(store.path(), "images", summary->generation);
  int seen = 0;
  for (int shard = 0; shard < 3; ++shard) {
    const auto& described = manifest->shards(shard);
    const auto vectors =
        ShardVectors::Open(JoinPath(directory, described.vectors().path()), described, 4);
    const auto features =
        FeatureStore::Open(JoinPath(directory, described.features().path()), described);
    REQUIRE(vectors.ok());
    REQUIRE((*vectors)->Load(CallContext::Unbounded()).ok());
    REQUIRE(features.ok());
    for (int64_t row = 0; row < (*vectors)->size(); ++row) {
      const std::string id((*vectors)->item_id(row));
      REQUIRE(ShardOf(id, 3) == shard);
      // The first pixel's red is the picture's number; it is feature 3 of the second region.
      const auto item = (*features)->Get(std::string(64, 'a'), {row});
      REQUIRE(item.ok());
      float red = 0, mean = 0;
      std::memcpy(&red, item->at(0).Find("rows")->bytes.data() + 3 * sizeof(float), sizeof(float));
      std::memcpy(&mean, item->at(0).Find("rows")->bytes.data(), sizeof(float));
      REQUIRE(red == std::stoi(id.substr(2)));
      REQUIRE(StoredEmbedding(**vectors, row)[0] == mean);
      ++seen;
    }
  }
  REQUIRE(seen == 30);
}

TEST_CASE("a generation says what its rows are kept as, and another choice is another one") {
  TempDir store;
  CorpusEncoderOptions options = Options(store);
  const auto plain = Run(options, Corpus(20));
  options.feature_dtype = Dtype::kInt8;
  const auto packed = Run(options, Corpus(20));
  REQUIRE((plain.ok() && packed.ok()));
  REQUIRE(packed->generation != plain->generation);
  REQUIRE(packed->encoded_image_count == 20);
  for (const char* index : {"images", "captions"}) {
    const auto before = ReadGenerationManifest(store.path(), index, plain->generation);
    const auto after = ReadGenerationManifest(store.path(), index, packed->generation);
    REQUIRE((before.ok() && after.ok()));
    REQUIRE(before->feature_dtype() == "");  // as all manifests before there was a choice
    REQUIRE(after->feature_dtype() == "int8");
    REQUIRE(VerifyGeneration(store.path(), *after, {}).ok());
  }
  const auto manifest = ReadGenerationManifest(store.path(), "images", packed->generation);
  const std::string path = JoinPath(GenerationDirectory(store.path(), "images", packed->generation),
                                    manifest->shards(0).features().path());
  const auto features = FeatureStore::Open(path, manifest->shards(0));
  REQUIRE(features.ok());
  const auto item = (*features)->Get(std::string(64, 'a'), {0});
  REQUIRE(item.ok());
  REQUIRE(item->at(0).Find("rows")->dtype == Dtype::kInt8);
  REQUIRE(item->at(0).Find("rows_scales")->bytes.size() == 2 * 4);
}

TEST_CASE("a generation carries the features of every reranker, by name") {
  TempDir store;
  TestDecoders decoders;
  const auto summary =
      RunTestJob(Options(store), Corpus(20), decoders.pool(), {}, CallContext::Unbounded(), {},
                 {TestReranker("default", 'b'), TestReranker("fine", 'c')});
  INFO(summary.status());
  REQUIRE(summary.ok());
  for (const char* index : {"images", "captions"}) {
    const auto manifest = ReadGenerationManifest(store.path(), index, summary->generation);
    REQUIRE(manifest.ok());
    REQUIRE(RerankersOf(*manifest) == std::vector<NamedReranker>{{"default", std::string(64, 'b')},
                                                                 {"fine", std::string(64, 'c')}});
    REQUIRE(VerifyGeneration(store.path(), *manifest, {}).ok());
  }
  // What a reranker is called is part of the generation, though not of its features.
  const auto renamed =
      RunTestJob(Options(store), Corpus(20), decoders.pool(), {}, CallContext::Unbounded(), {},
                 {TestReranker("default", 'b'), TestReranker("finer", 'c')});
  REQUIRE(renamed.ok());
  REQUIRE(renamed->generation != summary->generation);
  REQUIRE(renamed->encoded_image_count == 0);
  REQUIRE(renamed->carried_image_count == 20);
}

TEST_CASE("what is only needed on the way to the shards is gone when they are written") {
  TempDir store;
  REQUIRE(Run(Options(store), Corpus()).ok());
  const std::vector<std::string> names = *ListFilesBelow(store.File("work/images"));
  for (const std::string& name : names) {
    CAPTURE(name);
    const bool stays = absl::StartsWith(name, "LOCK") || absl::StartsWith(name, "units/") ||
                       absl::StartsWith(name, "scans/") || name == "FORMAT";
    REQUIRE(stays);
  }
}

TEST_CASE("a work folder of another layout is refused, the first one's files are made anew") {
  TempDir store;
  const std::string work = store.File("work/images");
  REQUIRE(MakeDirectories(work).ok());
  REQUIRE(WriteFileAtomically(work + "/FORMAT", "3\n").ok());
  const absl::Status newer = Run(Options(store), Corpus(5)).status();
  REQUIRE(absl::IsFailedPrecondition(newer));
  REQUIRE_THAT(std::string(newer.message()), Catch::Contains("layout 3"));

  std::filesystem::remove(work + "/FORMAT");
  REQUIRE(WriteFileAtomically(work + "/" + std::string(64, '0') + ".unit", "old").ok());
  std::filesystem::last_write_time(work + "/" + std::string(64, '0') + ".unit",
                                   std::filesystem::last_write_time(work) - std::chrono::hours(1));
  REQUIRE(Run(Options(store), Corpus(5)).ok());
  REQUIRE(!FileExists(work + "/" + std::string(64, '0') + ".unit"));
}

TEST_CASE("two jobs do not work on one index at a time") {
  TempDir store;
  REQUIRE(MakeDirectories(store.File("work/images")).ok());
  const auto lock = WorkLock::Take(store.File("work/images"), WorkShare(), "job");
  REQUIRE(lock.ok());
  const absl::Status status = Run(Options(store), Corpus(5)).status();
  REQUIRE(absl::IsAborted(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("another corpus_encoder"));
}

TEST_CASE("a broken model publishes nothing") {
  TempDir store;
  FakeModelBehavior behavior;
  behavior.zero_images = true;
  const absl::Status zero = Run(Options(store), Corpus(5), behavior).status();
  REQUIRE(absl::IsFailedPrecondition(zero));
  REQUIRE_THAT(std::string(zero.message()),
               Catch::Contains("5 of 5 pictures are bad") && Catch::Contains("all zero"));
  behavior.zero_images = false;
  behavior.same_images = true;
  const absl::Status collapsed = Run(Options(store), Corpus(), behavior).status();
  REQUIRE(absl::IsFailedPrecondition(collapsed));
  REQUIRE_THAT(std::string(collapsed.message()), Catch::Contains("collapsed"));
  behavior.image_encoder = false;
  REQUIRE(absl::IsFailedPrecondition(Run(Options(store), Corpus(5), behavior).status()));
  REQUIRE(!FileExists(store.path() + "/indexes/images/CURRENT"));
}

TEST_CASE("pictures that are there twice are kept, counted and listed") {
  TempDir store;
  FakeCorpus corpus = Corpus(20);
  corpus.Add("z/copy", corpus.pictures.at("p/7"), {"another caption"});
  const auto summary = Run(Options(store), corpus);
  REQUIRE(summary.ok());
  REQUIRE(summary->image_count == 21);
  REQUIRE(summary->duplicate_count == 1);
  REQUIRE(summary->warning_count == 1);
  REQUIRE(Published(store).at("images/generations/" + summary->generation + "/warnings.jsonl") ==
          "{\"item_id\":\"z/copy\",\"path\":\"/pictures/z/copy\","
          "\"reason\":\"the same picture as p/7\"}\n");
}

TEST_CASE("a picture that crashes its decoder is quarantined, the job goes on") {
  TempDir store;
  FakeCorpus corpus = Corpus(30);
  corpus.Add("q/crash", EncodePng(Gradient(77, 77)), {"boom"});
  TestDecoders decoders([](absl::string_view bytes, const DecodeLimits& limits) {
    absl::StatusOr<Pixels> pixels = DecodeImage(bytes, limits);
    if (pixels.ok() && pixels->width == 77) ::raise(SIGSEGV);
    return pixels;
  });
  const auto summary = RunTestJob(Options(store), corpus, decoders.pool());
  REQUIRE(summary.ok());
  REQUIRE(summary->image_count == 30);
  REQUIRE(summary->lost_decoder_count == 2);
  REQUIRE_THAT(
      Published(store).at("images/generations/" + summary->generation + "/quarantine.jsonl"),
      Catch::Contains("q/crash") && Catch::Contains("killed by signal 11"));
}

}  // namespace
}  // namespace sightline
