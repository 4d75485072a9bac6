#include "services/corpus_encoder/base_generation.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "absl/strings/str_format.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_source.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/services/corpus_encoder/tally_notes.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kShards = 2;

BaseRequirements Required() {
  BaseRequirements required;
  required.item_kind = bundle::v1::IMAGE;
  required.embedding = FakeModel::Embedding();
  required.encoder_model = std::string(64, 'a');
  required.rerankers = {{kDefaultReranker, required.encoder_model}};
  return required;
}

// A generation of two shards, opened as a base.
struct Fixture {
  Fixture() {
    corpus.AddMany(40);
    TestDecoders decoders;
    const auto summary = RunTestJob(TestJobOptions(store.path()), corpus, decoders.pool());
    REQUIRE(summary.ok());
    auto opened = BaseIndex::Open(store.path(), "images", summary->generation, Required());
    INFO(opened.status());
    REQUIRE(opened.ok());
    base = *std::move(opened);
  }

  // Of the shard that an item lives in.
  std::string VectorsOf(const std::string& item_id) const {
    return JoinPath(GenerationDirectory(store.path(), "images", base->generation()),
                    ShardFileName(ShardOf(item_id, kShards), kShards, "vectors"));
  }

  TempDir store;
  FakeCorpus corpus;
  std::unique_ptr<BaseIndex> base;
};

TEST_CASE_METHOD(Fixture, "an item that cannot be looked up is an error, not a new item") {
  const std::string hash(32, 'h');
  BaseReader reader(*base);
  REQUIRE(!reader.Find("p/7", hash)->has_value());
  REQUIRE(!reader.Find("not there", hash)->has_value());
  {
    BaseReader fresh(*base);
    const FailingReads failing({".vectors", EIO});
    for (const char* id : {"p/7", "not there"}) {
      const absl::Status status = fresh.Find(id, hash).status();
      REQUIRE(absl::IsUnavailable(status));
      REQUIRE_THAT(std::string(status.message()),
                   Catch::Contains(".vectors") && Catch::Contains(base->generation()) &&
                       Catch::Contains("run the same command again"));
    }
  }
  REQUIRE(!reader.Find("p/7", hash)->has_value());
}

TEST_CASE_METHOD(Fixture, "what is damaged after the verification is not carried over") {
  const WorkFolder folder(store.path());
  WorkTally tally(folder, {});
  REQUIRE(base->Verify(store.path(), tally, CallContext::Unbounded()).ok());
  const std::string path = VectorsOf("p/7");
  const auto container = *Container::Open(path);
  const auto damaged = [&](const absl::Status& status) {
    INFO(status);
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  };
  const BaseIndex::Place place{ShardOf("p/7", kShards), 0};
  REQUIRE(BaseReader(*base).Embedding(place).ok());
  CorruptInPlace(path, container->Find("embeddings")->offset);
  damaged(BaseReader(*base).Embedding(place).status());
  REQUIRE(!BaseReader(*base).Find("p/7", "another")->has_value());
  CorruptInPlace(path, container->Find("content_hash")->offset);
  damaged(BaseReader(*base).Find("p/7", "another").status());
}

TEST_CASE_METHOD(Fixture, "a verification is seen by those who wait, file by file") {
  const WorkFolder folder(store.path());
  WorkTally tally(folder, {0, 2});
  REQUIRE(base->Verify(store.path(), tally, CallContext::Unbounded()).ok());
  REQUIRE(NotesOf(folder, 0) == 4);
}

// The address sanitizer's own memory does not fit the limit.
#if !defined(__SANITIZE_ADDRESS__)
// The items of a shard, made as they are asked for.
class ManyItems : public ShardSource {
 public:
  ManyItems(int64_t count, int shard) {
    for (int64_t i = 0; i < count; ++i) {
      record_.item_id = absl::StrFormat("item/%08d", i);
      if (ShardOf(record_.item_id, kShards) == shard) numbers_.push_back(i);
    }
    FeatureTensor tensor;
    tensor.name = "rows";
    tensor.dtype = Dtype::kInt8;
    tensor.rows = tensor.columns = 1;
    tensor.bytes = "x";
    features_.tensors = {tensor};
  }

  int64_t size() const override { return static_cast<int64_t>(numbers_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override {
    record_.item_id = absl::StrFormat("item/%08d", numbers_[static_cast<size_t>(i)]);
    return &record_;
  }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t) override { return embedding_; }
  absl::StatusOr<const ItemFeatures*> Features(int64_t, int) override { return &features_; }
  absl::string_view ContentHash(int64_t) override { return hash_; }

 private:
  std::vector<int64_t> numbers_;
  ItemRecord record_;
  std::vector<float> embedding_ = std::vector<float>(FakeModel::kDimension, 1.0f);
  ItemFeatures features_;
  const std::string hash_ = std::string(kContentHashBytes, 'h');
};

void WriteManyItems(const std::string& store, int64_t count) {
  const BaseRequirements required = Required();
  bundle::v1::GenerationManifest manifest;
  manifest.set_index("images");
  manifest.set_generation("many");
  manifest.set_item_kind(required.item_kind);
  manifest.set_item_count(count);
  *manifest.mutable_embedding() = required.embedding;
  manifest.set_encoder_model(required.encoder_model);
  SetRerankers(required.rerankers, &manifest);
  for (int shard = 0; shard < kShards; ++shard) {
    ManyItems items(count, shard);
    const auto written =
        WriteShardFrom(GenerationDirectory(store, "images", "many"), shard, kShards,
                       FakeModel::kDimension, {required.encoder_model}, items);
    REQUIRE(written.ok());
    *manifest.add_shards() = *written;
  }
  REQUIRE(WriteGenerationManifest(store, manifest).ok());
}

// Looks `count` items up and copies all that they have.
absl::Status CarryAll(const std::string& store, int64_t count) {
  const auto base = BaseIndex::Open(store, "images", "many", Required());
  if (!base.ok()) return base.status();
  BaseReader reader(**base);
  const std::string hash(kContentHashBytes, 'h');
  for (int64_t i = 0; i < count; ++i) {
    const auto place = reader.Find(absl::StrFormat("item/%08d", i), hash);
    if (!place.ok()) return place.status();
    if (!place->has_value()) return absl::NotFoundError("an item is missing");
    if (const auto read = reader.Embedding(**place); !read.ok()) return read.status();
    if (const auto read = reader.Features(**place, 0); !read.ok()) return read.status();
  }
  return absl::OkStatus();
}

// Private memory of this process.
int64_t DataBytes() {
  long long pages[6] = {};
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(std::fscanf(file, "%lld %lld %lld %lld %lld %lld", &pages[0], &pages[1], &pages[2],
                      &pages[3], &pages[4], &pages[5]) == 6);
  std::fclose(file);
  return pages[5] * ::sysconf(_SC_PAGESIZE);
}

TEST_CASE("two hundred thousand items are carried over with 6 MiB of memory") {
  constexpr int64_t kMany = 200000;  // 12 MB of offsets, ids and checksums
  const TempDir store;
  WriteManyItems(store.path(), kMany);
  const pid_t pid = ::fork();
  if (pid == 0) {
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = DataBytes() + (int64_t{6} << 20);
    ::setrlimit(RLIMIT_DATA, &limit);
    try {
      ::_exit(CarryAll(store.path(), kMany).ok() ? 0 : 1);
    } catch (const std::bad_alloc&) {
      ::_exit(2);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
}
#endif

}  // namespace
}  // namespace sightline
