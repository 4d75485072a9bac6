#include "services/sightlinectl/reindex.h"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/publication.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/verify.h"
#include "common/index/index_builder.h"
#include "common/index/index_kinds.h"
#include "common/index/recall_probes.h"
#include "common/index/shard_rows.h"
#include "common/indexing/index_report.h"
#include "services/sightlinectl/reindex_command.h"
#include "tests/common/bundle/items.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

ino_t InodeOf(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_ino;
}

struct Rig {
  Rig() {
    base = *WriteTestGeneration(store.path(), "g1", 120, 2);
    REQUIRE(PublishGeneration(store.path(), "images", "g1").ok());
    options.store = store.path();
    options.index = "images";
    options.query_index = "images";
    options.wish.spec.set_kind("hnsw");
  }
  absl::StatusOr<Reindexed> Make() {
    return Reindex(options, &pool, CallContext::Unbounded(), nullptr);
  }
  std::string Directory(const GenerationManifest& manifest) const {
    return GenerationDirectory(store.path(), "images", manifest.generation());
  }
  // The recall of a shard, opened and searched as a server does.
  double RecallOf(const GenerationManifest& manifest, int shard) {
    const CallContext call = CallContext::Unbounded();
    const std::string directory = Directory(manifest);
    const IndexKind* const kind = *IndexKindOf(manifest);
    const auto rows = *ShardRows::Open(directory, manifest, shard, RowPlace::kMemory, call);
    const auto index = *kind->open(directory, manifest, shard, rows->view(), &pool, call);
    const Probes probes =
        *ReadProbes(JoinPath(directory, manifest.shards(shard).probes().path()), manifest, shard);
    return *MeasureRecall(*index, probes, RecallSearch(manifest, shard, &pool), call);
  }

  TempDir store;
  GenerationManifest base;
  ReindexOptions options;
  ComputePool pool{2};
};

TEST_CASE("a generation has the files of its base, and an index that servers take") {
  Rig rig;
  const auto made = rig.Make();
  REQUIRE(made.ok());
  CHECK(!made->already_there);
  const GenerationManifest& manifest = made->manifest;
  CHECK(manifest.parent_generation() == "g1");
  CHECK(manifest.index_spec().kind() == "hnsw");
  CHECK(manifest.reranker_model() == rig.base.reranker_model());
  for (int i = 0; i < 2; ++i) {
    const auto& of_base = rig.base.shards(i);
    const auto& shard = manifest.shards(i);
    CHECK(shard.vectors().sha256() == of_base.vectors().sha256());
    CHECK(shard.features().sha256() == of_base.features().sha256());
    CHECK(InodeOf(JoinPath(rig.Directory(manifest), shard.vectors().path())) ==
          InodeOf(JoinPath(rig.Directory(rig.base), of_base.vectors().path())));
    CHECK(shard.index_files_size() > 0);
    CHECK(shard.efforts_size() > 0);
    CHECK(rig.RecallOf(manifest, i) >= manifest.recall_probe().floor());
  }
  CHECK(VerifyGeneration(rig.store.path(), manifest, {}).ok());
  CHECK(!FileExists(IndexWorkFolder(rig.Directory(manifest))));
  CHECK(FileExists(JoinPath(rig.Directory(manifest), kReportFile)));
  // CURRENT is left, and the generation may be published.
  CHECK(ReadCurrent(rig.store.path(), "images")->generation() == "g1");
  CHECK(PublishGeneration(rig.store.path(), "images", manifest.generation()).ok());
}

TEST_CASE("the same again is there already; another index has another name") {
  Rig rig;
  const auto first = rig.Make();
  REQUIRE(first.ok());
  const auto again = rig.Make();
  REQUIRE(again.ok());
  CHECK(again->already_there);
  CHECK(again->manifest.generation() == first->manifest.generation());
  rig.options.wish.spec.set_seed(9);
  const auto other = rig.Make();
  REQUIRE(other.ok());
  CHECK(!other->already_there);
  CHECK(other->manifest.generation() != first->manifest.generation());
  rig.options.generation = first->manifest.generation();
  CHECK(absl::IsAlreadyExists(rig.Make().status()));
  rig.options.generation = "../elsewhere";
  CHECK(absl::IsInvalidArgument(rig.Make().status()));
}

TEST_CASE("one index follows another, asked with the probes of the first") {
  Rig rig;
  const auto first = rig.Make();
  REQUIRE(first.ok());
  rig.options.base = first->manifest.generation();
  rig.options.query_index = "";
  rig.options.wish.spec.Clear();
  rig.options.wish.spec.set_kind("flat");
  const auto second = rig.Make();
  REQUIRE(second.ok());
  CHECK(second->manifest.index_spec().kind() == "flat");
  CHECK(second->manifest.shards(0).index_files().empty());
  CHECK(second->manifest.shards(0).efforts().empty());
  CHECK(second->manifest.recall_probe().query_count() == 64);
  CHECK(rig.RecallOf(second->manifest, 0) == 1);
  CHECK(VerifyGeneration(rig.store.path(), second->manifest, {}).ok());
}

TEST_CASE("what a run that was killed has left is taken up") {
  Rig rig;
  const auto first = rig.Make();
  REQUIRE(first.ok());
  const std::string directory = rig.Directory(first->manifest);
  const std::string path = JoinPath(directory, first->manifest.shards(0).index_files(0).path());
  const std::string built = *ReadFile(path);
  // As if it had been killed before its manifest was there, with a file half written.
  REQUIRE(::unlink(JoinPath(directory, "manifest.json").c_str()) == 0);
  REQUIRE(WriteFileAtomically(path, "half").ok());
  const auto again = rig.Make();
  REQUIRE(again.ok());
  CHECK(!again->already_there);
  CHECK(*ReadFile(path) == built);
}

TEST_CASE("embeddings become float16, all else stays") {
  Rig rig;
  rig.options.vector_dtype = Dtype::kFloat16;
  const auto made = rig.Make();
  INFO(made.status());
  REQUIRE(made.ok());
  CHECK(VectorDtypeOf(made->manifest) == Dtype::kFloat16);
  CHECK(VerifyGeneration(rig.store.path(), made->manifest, {}).ok());
  for (int i = 0; i < 2; ++i) {
    const auto open = [&](const GenerationManifest& manifest) {
      return *ShardVectors::Open(
          JoinPath(rig.Directory(manifest), manifest.shards(i).vectors().path()),
          manifest.shards(i), kTestDimension);
    };
    const auto before = open(rig.base);
    const auto after = open(made->manifest);
    REQUIRE(before->Load(CallContext::Unbounded()).ok());
    REQUIRE(after->Load(CallContext::Unbounded()).ok());
    REQUIRE(after->size() == before->size());
    for (int64_t row = 0; row < after->size(); ++row) {
      CHECK(after->item_id(row) == before->item_id(row));
      CHECK(after->Record(row)->caption == before->Record(row)->caption);
      CHECK(after->Record(row)->tags == before->Record(row)->tags);
      std::vector<float> one(kTestDimension), other(kTestDimension);
      REQUIRE(before->CopyEmbedding(row, absl::MakeSpan(one)).ok());
      REQUIRE(after->CopyEmbedding(row, absl::MakeSpan(other)).ok());
      CHECK(one == other);  // quarters are float16's, too
    }
    CHECK(made->manifest.shards(i).features().sha256() == rig.base.shards(i).features().sha256());
  }
  // Back again it is a conversion, too; to what it is already, none.
  rig.options.base = made->manifest.generation();
  const auto same = rig.Make();
  REQUIRE(same.ok());
  CHECK(same->manifest.shards(0).vectors().sha256() == made->manifest.shards(0).vectors().sha256());
}

TEST_CASE("what the kind does not take for these rows leaves nothing behind") {
  Rig rig;
  rig.options.generation = "parts";
  rig.options.wish.spec.set_kind("ivf");
  rig.options.wish.spec.mutable_ivf()->set_code("pq4");
  rig.options.wish.spec.mutable_ivf()->set_pq_parts(rig.base.embedding().dimension() + 1);
  const absl::Status status = rig.Make().status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(absl::StrContains(status.message(), "pq_parts is "));
  CHECK(!FileExists(GenerationDirectory(rig.store.path(), "images", "parts")));
}

TEST_CASE("without queries, or with those of another space, nothing is made") {
  Rig rig;
  rig.options.query_index = "";
  const absl::Status none = rig.Make().status();
  CHECK(absl::IsFailedPrecondition(none));
  CHECK(absl::StrContains(none.message(), "--query-index"));
  rig.options.query_index = "nope";
  CHECK(absl::IsNotFound(rig.Make().status()));
  rig.options.query_index = "images";
  rig.options.base = "g9";
  CHECK(absl::IsNotFound(rig.Make().status()));
}

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunReindex, args);
}

TEST_CASE("as it is typed") {
  Rig rig;
  const std::string store = absl::StrCat("--store=", rig.store.path());
  const Ran made = Run({"images", store, "--kind=hnsw", "--query-index=images", "--publish"});
  INFO(made.err);
  REQUIRE(made.status == 0);
  const std::string name = made.out.substr(0, made.out.size() - 1);
  CHECK(ReadCurrent(rig.store.path(), "images")->generation() == name);
  CHECK(absl::StrContains(made.err, "shard 1: finds "));
  CHECK(absl::StrContains(made.err, absl::StrCat("images is now ", name, " (sequence 2)")));

  CHECK(Run({"images", store}).status == 2);
  CHECK(absl::StrContains(Run({"images", store}).err, "--kind"));
  CHECK(Run({"images", store, "--kind=nope"}).status == 2);
  CHECK(Run({"images", store, "--kind=hnsw", "--lists=3"}).status == 2);
  const Ran all = Run({"images", store, "--kind=ivf", "--recall=1", "--query-index=images"});
  CHECK(all.status == 0);
  CHECK(absl::StrContains(all.err, "shard 0: compares all"));
  const Ran no_code = Run({"images", store, "--kind=ivf", "--code=nope", "--query-index=images"});
  CHECK(no_code.status == 2);
  CHECK(absl::StrContains(no_code.err, "code is 'nope'"));
  CHECK(Run({store, "--kind=hnsw"}).status == 2);
  const Ran remote = Run({"images", "--object-store=s3://bucket/folder", "--kind=hnsw"});
  CHECK(remote.status == 2);
  CHECK(absl::StrContains(remote.err, "fetch"));
  const Ran missing = Run({"nothing", store, "--kind=hnsw"});
  CHECK(missing.status == 1);
  CHECK(absl::StrContains(missing.err, "images"));
  // No later time is better.
  CHECK(
      Run({"images", store, "--kind=hnsw", "--query-index=images", "--links=20", "--max-memory=1"})
          .status == 1);
}

}  // namespace
}  // namespace sightline
