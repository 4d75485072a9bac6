// Files that cannot be read, are read wrongly, or change under whoever serves them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/bundle/bundle_file.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/layout.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/verify.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

const CallContext kCall = CallContext::Unbounded();
constexpr int kItems = 40;

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

std::string ReasonOf(const absl::Status& status) {
  const auto reason = GetReason(status);
  return reason.has_value() ? reason->reason : status.ToString();
}

// A generation of one shard.
struct Fixture {
  Fixture()
      : manifest(*WriteTestGeneration(store.path(), "g1", kItems, 1)),
        directory(GenerationDirectory(store.path(), "images", "g1")),
        vectors(JoinPath(directory, manifest.shards(0).vectors().path())),
        features(JoinPath(directory, manifest.shards(0).features().path())) {}

  absl::StatusOr<std::unique_ptr<ShardVectors>> Load() const {
    return LoadShard(store.path(), manifest, 0, {state.path()}, kCall);
  }
  std::unique_ptr<FeatureStore> OpenFeatures() const {
    auto opened = FeatureStore::Open(features, manifest.shards(0));
    REQUIRE(opened.ok());
    return *std::move(opened);
  }
  // Where a section of the features lies.
  Place FeatureSection(const std::string& name) const {
    std::string bytes = *ReadFile(features);
    return RepairChecksums(&bytes, name);
  }

  TempDir store, state;
  const GenerationManifest manifest;
  const std::string directory, vectors, features;
};

// All that a search server may be asked, as text.
std::string Answers(const ShardVectors& vectors) {
  std::string text;
  for (int64_t row = 0; row < vectors.size(); ++row) {
    const auto record = vectors.Record(row);
    REQUIRE(record.ok());
    text += record->item_id + record->caption + record->uri;
    for (const std::string& tag : record->tags) text += tag;
    for (const float number : StoredEmbedding(vectors, row)) text += std::to_string(number) + " ";
  }
  return text;
}

std::string BytesOf(const ItemFeatures& item) {
  std::string bytes;
  for (const FeatureTensor& tensor : item.tensors) bytes += tensor.name + tensor.bytes;
  return bytes;
}

TEST_CASE("each of the reads of loading may fail, which is no damage and leaves no stamp") {
  const Fixture f;
  const std::vector<std::pair<std::string, std::function<absl::Status()>>> loadings = {
      {f.vectors, [&] { return f.Load().status(); }},
      {f.features,
       [&]() -> absl::Status {
         const auto opened = FeatureStore::Open(f.features, f.manifest.shards(0));
         if (!opened.ok()) return opened.status();
         const absl::Status sound = (*opened)->Verify(kCall);
         return sound.ok() ? (*opened)->Get(TestReranker(), {0, kItems - 1}).status() : sound;
       }},
      {f.vectors,
       [&] {
         VerifyOptions options;
         options.state_dir = f.state.path();
         return VerifyGeneration(f.store.path(), f.manifest, options, kCall);
       }},
  };
  for (const auto& [path, load] : loadings) {
    for (const int error : {EIO, ESTALE, kShortRead}) {
      int failed = 0;
      for (bool done = false; !done; ++failed) {
        const FailingReads failing({path, error, failed});
        const absl::Status status = load();
        CAPTURE(path, error, failed, status);
        done = status.ok();
        if (done) continue;
        REQUIRE(IsFailedRead(status));
        REQUIRE(Mentions(status, path));
        REQUIRE(!FileExists(f.state.File("verified")));
      }
      REQUIRE(failed > 8);
      REQUIRE(load().ok());
      ForgetStamps(f.state.path(), {f.vectors, f.features});
      REQUIRE((!FileExists(f.state.File("verified")) ||
               ::system(("rm -r " + f.state.File("verified")).c_str()) == 0));
    }
  }
}

TEST_CASE("what is read wrongly once is read again, and is right") {
  const Fixture f;
  const std::string expected = Answers(**f.Load());
  for (int at = 0; at < 20; ++at) {
    CAPTURE(at);
    ForgetStamps(f.state.path(), {f.vectors});
    const FailingReads failing({f.vectors, kFlippedOnce, at});
    const auto loaded = f.Load();
    INFO(loaded.status());
    REQUIRE(loaded.ok());
    REQUIRE(Answers(**loaded) == expected);
  }
  const auto features = f.OpenFeatures();
  const std::string bytes = BytesOf((*features->Get(TestReranker(), {7}))[0]);
  const FailingReads failing({f.features, kFlippedOnce});
  REQUIRE(BytesOf((*features->Get(TestReranker(), {7}))[0]) == bytes);
  REQUIRE(failing.reads() > 1);
}

TEST_CASE("what is read wrongly again is damage") {
  const Fixture f;
  {
    const FailingReads failing({f.vectors, kFlippedBit, 4});
    REQUIRE(ReasonOf(f.Load().status()) == reasons::kChecksumMismatch.name);
  }
  const auto features = f.OpenFeatures();
  const FailingReads failing({f.features, kFlippedBit});
  const absl::Status status = features->Get(TestReranker(), {7}).status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(ReasonOf(status) == reasons::kChecksumMismatch.name);
  REQUIRE(Mentions(status, f.features));
  REQUIRE(Mentions(status, "item 7"));
}

TEST_CASE("what is loaded does not know what becomes of its file") {
  const Fixture f;
  const auto loaded = *f.Load();
  const std::string expected = Answers(*loaded);
  const FailingReads failing({f.vectors, EIO});
  SECTION("corrupted in place") {
    for (int64_t at = 0; at < *FileSize(f.vectors); at += 512) CorruptInPlace(f.vectors, at);
  }
  SECTION("cut short in place") {
    REQUIRE(::truncate(f.vectors.c_str(), 0) == 0);
  }
  SECTION("removed") {
    REQUIRE(::unlink(f.vectors.c_str()) == 0);
  }
  REQUIRE(Answers(*loaded) == expected);
  REQUIRE(failing.reads() == 0);
}

TEST_CASE("features that are corrupted while they are served are damage, and the others right") {
  const Fixture f;
  const auto features = f.OpenFeatures();
  std::vector<std::string> expected;
  for (int64_t row = 0; row < kItems; ++row) {
    expected.push_back(BytesOf((*features->Get(TestReranker(), {row}))[0]));
  }
  const Place place = f.FeatureSection(TestReranker() + "/regions");
  CorruptInPlace(f.features, static_cast<int64_t>(place.offset + place.length) - 1);
  int damaged = 0;
  for (int64_t row = 0; row < kItems; ++row) {
    const auto got = features->Get(TestReranker(), {row});
    if (got.ok()) {
      REQUIRE(BytesOf((*got)[0]) == expected[row]);
    } else {
      ++damaged;
      REQUIRE(ReasonOf(got.status()) == reasons::kChecksumMismatch.name);
      REQUIRE(Mentions(got.status(), f.features));
    }
  }
  REQUIRE(damaged == 1);
}

TEST_CASE("features that are cut short while they are served cannot be read, and nobody dies") {
  const Fixture f;
  const auto features = f.OpenFeatures();
  REQUIRE(::truncate(f.features.c_str(), 4096) == 0);
  for (int64_t row = 0; row < kItems; ++row) {
    const absl::Status status = features->Get(TestReranker(), {row}).status();
    REQUIRE(IsFailedRead(status));
    REQUIRE(Mentions(status, f.features));
  }
}

TEST_CASE("features of an older writer, without checksums of items, are compared by the MiB") {
  const Fixture f;
  const std::string expected = BytesOf((*f.OpenFeatures()->Get(TestReranker(), {7}))[0]);
  // A section that no reader knows takes their place.
  std::string bytes = *ReadFile(f.features);
  const std::string name = ItemChecksumsSection(TestReranker());
  const size_t at = bytes.find(name);
  REQUIRE(at != std::string::npos);
  bytes[at + name.size() - 1] = 'z';
  RepairChecksums(&bytes);
  Overwrite(f.features, bytes);
  const auto features = f.OpenFeatures();
  REQUIRE(features->Verify(kCall).ok());
  REQUIRE(BytesOf((*features->Get(TestReranker(), {7}))[0]) == expected);
  const Place place = f.FeatureSection(TestReranker() + "/regions");
  CorruptInPlace(f.features, static_cast<int64_t>(place.offset + place.length) - 1);
  const absl::Status status = features->Get(TestReranker(), {7}).status();
  REQUIRE(ReasonOf(status) == reasons::kChecksumMismatch.name);
  REQUIRE(Mentions(status, f.features));
}

TEST_CASE("checksums of items that lie are found before anything is served") {
  const Fixture f;
  std::string bytes = *ReadFile(f.features);
  const size_t at = RepairChecksums(&bytes, ItemChecksumsSection(TestReranker())).offset;
  bytes[at + 4 * 9] ^= 1;
  RepairChecksums(&bytes);
  Overwrite(f.features, bytes);
  const absl::Status status = f.OpenFeatures()->Verify(kCall);
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(Mentions(status, "item 9"));
}

TEST_CASE("a stamp saves a look at the content, and never the checksums") {
  const Fixture f;
  REQUIRE(f.Load().ok());
  struct stat before;
  REQUIRE(::stat(f.vectors.c_str(), &before) == 0);
  // As a bad disk does, which no modification time tells of.
  CorruptInPlace(f.vectors, *FileSize(f.vectors) - 1);
  const timespec times[2] = {before.st_mtim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, f.vectors.c_str(), times, 0) == 0);
  REQUIRE(ReasonOf(f.Load().status()) == reasons::kChecksumMismatch.name);
}

TEST_CASE("verifying and loading are one pass over the file") {
  TempDir store;
  constexpr int kMany = 60'000;  // 3.7 MiB of embeddings
  const auto manifest = WriteTestGeneration(store.path(), "g1", kMany, 1);
  REQUIRE(manifest.ok());
  const std::string path = JoinPath(GenerationDirectory(store.path(), "images", "g1"),
                                    manifest->shards(0).vectors().path());
  const FailingReads counting({path, 0, INT_MAX});
  REQUIRE(LoadShard(store.path(), *manifest, 0, {}, kCall).ok());
  const auto container = *Container::Open(path);
  const int opening = 2;
  int blocks = 0;
  for (const Section& section : container->sections()) {
    blocks += static_cast<int>(section.checksums.size()) + 1;  // and the gap before it
  }
  REQUIRE(blocks > 20);
  REQUIRE(counting.reads() <= opening + blocks + opening);
}

TEST_CASE("a bundle's file is what its manifest says, or cannot be read, or is damaged") {
  TempDir store;
  bundle::v1::ModelBundleManifest described;
  described.set_family("test");
  ModelBundle bundle;
  bundle.directory = store.path();
  bundle.id = Sha256Hex("bundle");
  bundle::v1::BundleFile* const file = bundle.manifest.add_files();
  const std::string content(100'000, 'w');
  file->set_path("weights");
  file->set_byte_count(static_cast<int64_t>(content.size()));
  file->set_sha256(Sha256Hex(content));
  REQUIRE(WriteFileAtomically(bundle.FilePath("weights"), content).ok());
  const auto memory = ReadBundleFile(bundle, "weights");
  REQUIRE(memory.ok());
  REQUIRE(std::string((*memory)->data(), content.size()) == content);
  REQUIRE(absl::IsInvalidArgument(ReadBundleFile(bundle, "other").status()));
  {
    const FailingReads failing({"/weights", kFlippedOnce});
    REQUIRE(ReadBundleFile(bundle, "weights").ok());
  }
  for (const int error : {EIO, kShortRead}) {
    const FailingReads failing({"/weights", error});
    REQUIRE(IsFailedRead(ReadBundleFile(bundle, "weights").status()));
  }
  const FailingReads failing({"/weights", kFlippedBit});
  REQUIRE(ReasonOf(ReadBundleFile(bundle, "weights").status()) == reasons::kChecksumMismatch.name);
}

}  // namespace
}  // namespace sightline
