#include "common/bundle/vector_dtype.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/shard_source.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/shard_writer.h"
#include "common/bundle/vectors_reader.h"
#include "common/bundle/verify.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::ShardManifest;

constexpr char kVectors[] = "shards/00000-of-00001.vectors";

TEST_CASE("there are two, by these names, and another is refused with those that there are") {
  CHECK(VectorDtypeNames() == std::vector<std::string>{"float32", "float16"});
  CHECK(*ParseVectorDtype("float32") == Dtype::kFloat32);
  CHECK(*ParseVectorDtype("float16") == Dtype::kFloat16);
  CHECK(kDefaultVectorDtype == Dtype::kFloat32);
  for (const std::string& name : {std::string(), std::string("int8"), std::string("float16\0", 8),
                                  std::string("\xff\n"), std::string(5000, 'x')}) {
    const absl::Status status = ParseVectorDtype(name).status();
    INFO(status);
    REQUIRE(absl::IsInvalidArgument(status));
    CHECK(absl::EndsWith(status.message(), "is none of float32, float16"));
    CHECK(status.message().size() < 500);
    CHECK_FALSE(absl::StrContains(status.message(), "\n"));
  }
  CHECK(IsVectorDtype(Dtype::kFloat16));
  CHECK_FALSE(IsVectorDtype(Dtype::kInt8));
}

TEST_CASE("numbers are kept as the nearest that there is, and refused where there is none") {
  const auto kept = [](float number) {
    char bytes[2];
    REQUIRE(NarrowVector({&number, 1}, Dtype::kFloat16, bytes));
    float back = 0;
    WidenVector(bytes, Dtype::kFloat16, {&back, 1});
    return back;
  };
  CHECK(kept(0.1f) == 0.0999755859375f);
  CHECK(kept(-1.0f) == -1.0f);
  CHECK(kept(65504.0f) == 65504.0f);
  CHECK(kept(65519.996f) == 65504.0f);
  CHECK(kept(1e-9f) == 0.0f);
  for (const float number : {65520.0f, -65520.0f, 1e30f, std::numeric_limits<float>::max()}) {
    const std::vector<float> numbers = {1, number, 2};
    char bytes[12];
    CHECK_FALSE(NarrowVector(numbers, Dtype::kFloat16, bytes));
    CHECK(NarrowVector(numbers, Dtype::kFloat32, bytes));
  }
}

// Numbers that float16 rounds.
std::vector<EncodedItem> Items(int count) {
  std::vector<EncodedItem> items = MakeItems(count, /*with_features=*/false);
  for (EncodedItem& item : items) {
    for (float& number : item.embedding) number = number / 3 + 0.001f;
  }
  return items;
}

std::vector<float> Rounded(const std::vector<float>& numbers) {
  std::string bytes(2 * numbers.size(), '\0');
  REQUIRE(NarrowVector(numbers, Dtype::kFloat16, &bytes[0]));
  std::vector<float> rounded(numbers.size());
  WidenVector(bytes.data(), Dtype::kFloat16, absl::MakeSpan(rounded));
  REQUIRE(rounded != numbers);
  return rounded;
}

ShardManifest Write(const TempDir& dir, const std::vector<EncodedItem>& items) {
  const auto manifest = WriteShard(dir.path(), 0, 1, kTestDimension, {}, items, Dtype::kFloat16);
  INFO(manifest.status());
  REQUIRE(manifest.ok());
  return *manifest;
}

TEST_CASE("every reader gives what was rounded, and the file takes half") {
  TempDir dir;
  const std::vector<EncodedItem> items = Items(23);
  const ShardManifest manifest = Write(dir, items);
  const auto vectors = *ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  CHECK(vectors->dtype() == Dtype::kFloat16);
  CHECK(vectors->stride() == 32);  // 64 bytes
  REQUIRE(vectors->Load(CallContext::Unbounded()).ok());
  CHECK(vectors->Verify(0, 1, CallContext::Unbounded()).ok());
  CHECK(vectors->row_bytes_in_memory() == 23 * 64);
  const auto file = *VectorsFile::Open(dir.File(kVectors), manifest, kTestDimension);
  VectorsReader reader(*file);
  for (const EncodedItem& item : items) {
    const int64_t row = vectors->Find(item.record.item_id);
    const std::vector<float> expected = Rounded(item.embedding);
    CHECK(StoredEmbedding(*vectors, row) == expected);
    std::vector<float> read(kTestDimension);
    REQUIRE(reader.Embedding(row, absl::MakeSpan(read)).ok());
    CHECK(read == expected);
  }
}

TEST_CASE("a number beyond what is stored is refused by the item's name, and nothing is written") {
  TempDir dir;
  std::vector<EncodedItem> items = Items(5);
  items[3].embedding[2] = -70'000;
  const absl::Status status =
      WriteShard(dir.path(), 0, 1, kTestDimension, {}, items, Dtype::kFloat16).status();
  INFO(status);
  CHECK(absl::IsInvalidArgument(status));
  CHECK(absl::StrContains(status.message(), "item/3"));
  CHECK(absl::StrContains(status.message(), "float16"));
  CHECK(ListDirectory(dir.path())->empty());
  CHECK(WriteShard(dir.path(), 0, 1, kTestDimension, {}, items).ok());
  CHECK(absl::IsInvalidArgument(
      WriteShard(dir.path(), 0, 1, kTestDimension, {}, items, Dtype::kInt8).status()));
}

TEST_CASE("what checksums cannot vouch for is found in float16, too") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, Items(23));
  const std::string sound = *ReadFile(dir.File(kVectors));
  const auto verified = [&](size_t place, uint16_t half, EmbeddingPlace where) {
    std::string bytes = sound;
    PatchNumber(half, RepairChecksums(&bytes, "embeddings").offset + place, &bytes);
    RepairChecksums(&bytes);
    Overwrite(dir.File("tampered"), bytes);
    const auto vectors = *ShardVectors::Open(dir.File("tampered"), manifest, kTestDimension);
    RETURN_IF_ERROR(vectors->Load(CallContext::Unbounded(), where));
    return vectors->Verify(0, 1, CallContext::Unbounded());
  };
  for (const EmbeddingPlace where : {EmbeddingPlace::kMemory, EmbeddingPlace::kDisk}) {
    for (const uint16_t half : {0x7C00, 0xFC00, 0x7E01}) {  // infinities, NaN
      const absl::Status status = verified(64 * 7 + 2, half, where);
      INFO(status);
      CHECK(absl::IsDataLoss(status));
      CHECK(absl::StrContains(status.message(), "item 7 has an embedding that is not finite"));
    }
    CHECK(absl::StrContains(verified(2 * kTestDimension, 0x3C00, where).message(), "padding"));
    CHECK(verified(64 * 7 + 2, 0x7BFF, where).ok());  // 65504
  }
}

TEST_CASE("a file of another type than the manifest says is refused where it is served") {
  TempDir store;
  bundle::v1::GenerationManifest manifest =
      *WriteTestGeneration(store.path(), "g1", 10, 1, /*with_features=*/false);
  const auto load = [&] {
    return LoadShard(store.path(), manifest, 0, {}, CallContext::Unbounded()).status();
  };
  CHECK(load().ok());
  CHECK(VerifyGeneration(store.path(), manifest, {}).ok());
  SetVectorDtype(Dtype::kFloat16, &manifest);
  CHECK(HasReason(load(), reasons::kContentInvalid));
  CHECK(absl::StrContains(load().message(), "float32, its manifest says float16"));
  CHECK(HasReason(VerifyGeneration(store.path(), manifest, {}), reasons::kContentInvalid));
}

}  // namespace
}  // namespace sightline
