#include "services/corpus_encoder/generation_writer.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "services/corpus_encoder/unit_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 4;
constexpr int kUnits = 16;
constexpr int kPerUnit = 8;
constexpr int64_t kFeatureBytes = int64_t{1} << 20;

// Units of pictures with large features, as a job has left them.
struct Corpus {
  explicit Corpus(const std::string& work_directory) {
    for (int i = 0; i < kUnits * kPerUnit; ++i) {
      ScannedPicture picture;
      picture.item.item_id = absl::StrCat("p/", 1000 + i);
      picture.item.path = "/" + picture.item.item_id;
      picture.sha256 = absl::StrCat(i);
      pictures.push_back(picture);
    }
    for (int u = 0; u < kUnits; ++u) {
      units.push_back(
          {absl::StrCat("unit", u), absl::MakeConstSpan(pictures).subspan(u * kPerUnit, kPerUnit)});
      UnitResult result;
      for (const ScannedPicture& picture : units.back().pictures) {
        UnitRow row;
        row.item_id = picture.item.item_id;
        row.embedding = {static_cast<float>(u + 1), static_cast<float>(result.images.size()), 2, 3};
        FeatureTensor tensor;
        tensor.name = "rows";
        tensor.dtype = Dtype::kInt8;
        tensor.rows = 1024;
        tensor.columns = kFeatureBytes / 1024;
        tensor.bytes = std::string(kFeatureBytes, static_cast<char>(result.images.size()));
        row.features = {{{tensor}}};
        result.images.push_back(row);
      }
      REQUIRE(WriteUnitFile(UnitFilePath(work_directory, units.back().hash), units.back().hash,
                            kDimension, result)
                  .ok());
    }
  }
  std::vector<ScannedPicture> pictures;
  std::vector<WorkUnit> units;
};

GenerationSpec Spec(const TempDir& store, const Corpus& corpus) {
  GenerationSpec spec;
  spec.store = store.path();
  spec.index = "images";
  spec.generation = "g";
  spec.embedding.set_dimension(kDimension);
  spec.embedding.set_metric(bundle::v1::EmbeddingSpec::COSINE);
  spec.embedding.set_space(std::string(64, 'a'));
  spec.encoder_model = std::string(64, 'a');
  spec.rerankers = {{kDefaultReranker, spec.encoder_model}};
  spec.content = "c";
  spec.sources.item_kind = bundle::v1::IMAGE;
  spec.sources.units = corpus.units;
  spec.sources.work_directory = store.path();
  spec.sources.dimension = kDimension;
  return spec;
}

absl::StatusOr<WrittenGeneration> Write(const TempDir& store, const Corpus& corpus) {
  const GenerationSpec spec = Spec(store, corpus);
  CollectOptions options;
  options.work_directory = store.path();
  options.dimension = kDimension;
  const BaseGeneration base;
  const auto items = CollectItems(corpus.units, {}, base, options, CallContext::Unbounded());
  if (!items.ok()) return items.status();
  Progress progress({}, Clock::Real());
  return WriteGeneration(spec, items->images, CallContext::Unbounded(), &progress);
}

// The address sanitizer's own memory does not fit the limit.
#if !defined(__SANITIZE_ADDRESS__)
// Private memory of this process.
int64_t DataBytes() {
  long long pages[6] = {};
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(std::fscanf(file, "%lld %lld %lld %lld %lld %lld", &pages[0], &pages[1], &pages[2],
                      &pages[3], &pages[4], &pages[5]) == 6);
  std::fclose(file);
  return pages[5] * ::sysconf(_SC_PAGESIZE);
}

TEST_CASE("a shard of 128 MiB is written with 24 MiB of memory") {
  TempDir store;
  const Corpus corpus(store.path());
  const pid_t pid = ::fork();
  if (pid == 0) {
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = DataBytes() + (int64_t{24} << 20);
    ::setrlimit(RLIMIT_DATA, &limit);
    try {
      ::_exit(Write(store, corpus).ok() ? 0 : 1);
    } catch (const std::bad_alloc&) {
      ::_exit(2);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);

  const auto manifest = ReadGenerationManifest(store.path(), "images", "g");
  REQUIRE(manifest.ok());
  REQUIRE(manifest->item_count() == kUnits * kPerUnit);
  REQUIRE(manifest->shards(0).features().byte_count() > kUnits * kPerUnit * kFeatureBytes);
}
#endif

TEST_CASE("a generation that is there with this content is found, with other content refused") {
  TempDir store;
  const Corpus corpus(store.path());
  REQUIRE(absl::IsNotFound(FindWrittenGeneration(store.path(), "images", "g", "c").status()));
  REQUIRE(!Write(store, corpus)->already_there);
  const auto found = FindWrittenGeneration(store.path(), "images", "g", "c");
  REQUIRE(found.ok());
  REQUIRE(found->already_there);
  REQUIRE(found->item_count == kUnits * kPerUnit);
  REQUIRE(
      absl::IsAlreadyExists(FindWrittenGeneration(store.path(), "images", "g", "other").status()));
  REQUIRE(Write(store, corpus)->already_there);
}

TEST_CASE("a unit of other items than its pictures is damaged") {
  TempDir store;
  Corpus corpus(store.path());
  corpus.pictures[11].item.item_id = "other";
  const absl::Status status = Write(store, corpus).status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("unit1.unit"));
}

}  // namespace
}  // namespace sightline
