#include "common/bundle/shard_files.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bundle::v1::ShardManifest FullShard() {
  bundle::v1::ShardManifest shard = SoundGenerationManifest().shards(0);
  *shard.mutable_probes() = SoundFile("shards/p");
  *shard.add_index_files() = SoundFile("shards/g");
  *shard.add_index_files() = SoundFile("shards/h");
  return shard;
}

TEST_CASE("every file that a shard can have is listed, with its field") {
  const bundle::v1::ShardManifest shard = FullShard();
  std::vector<std::string> listed;
  for (const ShardFile& file : FilesOf(shard)) {
    listed.push_back(file.field + " " + file.description->path());
  }
  CHECK(listed == std::vector<std::string>{"vectors shards/00000-of-00002.vectors",
                                           "features shards/00000-of-00002.features",
                                           "probes shards/p", "index_files[0] shards/g",
                                           "index_files[1] shards/h"});
}

TEST_CASE("what a shard does not have is not listed, its vectors always are") {
  const bundle::v1::ShardManifest shard;
  const std::vector<ShardFile> files = FilesOf(shard);
  REQUIRE(files.size() == 1);
  CHECK(files[0].kind == ShardFileKind::kVectors);
}

TEST_CASE("all files are for search but the features") {
  const bundle::v1::ShardManifest shard = FullShard();
  for (const ShardFile& file : FilesOf(shard)) {
    CAPTURE(file.field);
    CHECK(IsForSearch(file.kind) == (file.field != "features"));
  }
}

TEST_CASE("the bytes of all files of all shards are counted, and lies do not wrap") {
  bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  CHECK(ShardFileBytes(manifest) == 4 * 12);
  *manifest.mutable_shards(1) = FullShard();
  CHECK(ShardFileBytes(manifest) == 7 * 12);
  manifest.mutable_shards(1)->mutable_index_files(1)->set_byte_count(INT64_MAX);
  CHECK(ShardFileBytes(manifest) == INT64_MAX);
}

}  // namespace
}  // namespace sightline
