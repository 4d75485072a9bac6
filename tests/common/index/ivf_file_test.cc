#include "common/index/ivf_file.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/index/ivf_shard.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 20;
constexpr int64_t kRows = 90;

// A file of each code, to be changed.
struct Victim {
  explicit Victim(const std::string& code)
      : rows(ClusteredRows(kRows, kDimension, 1), kDimension),
        manifest(IvfManifest(kRows, kDimension, code, 6)),
        pool(1) {
    REQUIRE(BuildIvfShard(dir.path(), rows.view(), &pool, &manifest).ok());
    path = JoinPath(dir.path(), manifest.shards(0).index_files(0).path());
    bytes = *ReadFile(path);
  }

  absl::Status Open(const std::string& content) {
    Overwrite(path, content);
    const auto index = OpenIvfShard(dir.path(), manifest, rows.view(), &pool);
    if (index.ok()) {
      // Whatever was believed is harmless.
      const EmbeddingMatrix queries = QueriesOf(ClusteredRows(2, kDimension, 2), kDimension);
      for (const int effort : {2, 6}) {
        const auto found =
            (*index)->Search(queries, {5, nullptr, effort}, CallContext::Unbounded());
        REQUIRE(found.ok());
      }
    }
    return index.status();
  }

  // The file with `value` as number `i` of a section, under right checksums.
  template <typename T>
  absl::Status OpenWith(const std::string& section, size_t i, T value) {
    std::string changed = bytes;
    const Place place = RepairChecksums(&changed, section);
    REQUIRE(place.length >= (i + 1) * sizeof(T));
    PatchNumber(value, place.offset + i * sizeof(T), &changed);
    RepairChecksums(&changed);
    return Open(changed);
  }

  TempDir dir;
  IvfRows rows;
  bundle::v1::GenerationManifest manifest;
  ComputePool pool;
  std::string path;
  std::string bytes;
};

void CheckInvalid(const absl::Status& status) {
  INFO(status.ToString());
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(HasReason(status, reasons::kContentInvalid));
}

TEST_CASE("a file that was not changed is opened") {
  for (const std::string code : {"rows", "int8", "pq4", "rabitq", "rabitq/axes"}) {
    Victim victim(code);
    REQUIRE(victim.Open(victim.bytes).ok());
  }
}

TEST_CASE("a file that is cut anywhere, or has any bit flipped, is refused") {
  for (const std::string code : {"rows", "int8", "pq4", "rabitq", "rabitq/axes"}) {
    Victim victim(code);
    for (size_t length = 0; length < victim.bytes.size(); length += 1 + length / 20) {
      REQUIRE(absl::IsDataLoss(victim.Open(victim.bytes.substr(0, length))));
    }
    for (size_t at = 0; at < victim.bytes.size(); at += 1 + at / 50) {
      std::string changed = victim.bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      const absl::Status status = victim.Open(changed);
      // Gaps between sections are nobody's; verification looks at them.
      if (!status.ok()) REQUIRE((absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)));
    }
  }
}

TEST_CASE("numbers that lie under right checksums are refused") {
  Victim victim("int8");
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 0, 1));
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 0, -1));
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 6, kRows + 1));
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 3, kRows + 1));
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 3, -1));
  CheckInvalid(victim.OpenWith<int64_t>("offsets", 3, std::numeric_limits<int64_t>::max()));
  CheckInvalid(victim.OpenWith<int32_t>("rows", 5, kRows));
  CheckInvalid(victim.OpenWith<int32_t>("rows", 5, -1));
  std::string changed = victim.bytes;
  const Place place = RepairChecksums(&changed, "rows");
  CheckInvalid(victim.OpenWith<int32_t>("rows", 5, NumberAt<int32_t>(victim.bytes, place.offset)));
  const float bad[] = {std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (const float value : bad) {
    CheckInvalid(victim.OpenWith("centroid_scales", 2, value));
    CheckInvalid(victim.OpenWith("code_scales", 70, value));
    Victim parts("pq4");
    CheckInvalid(parts.OpenWith("codebooks", 100, value));
    Victim axes("rabitq/axes");
    CheckInvalid(axes.OpenWith("axis_scales", 1, value));
    // A block of rabitq is 4 chunks of 64 bytes (20 numbers become 64), and 64 floats.
    Victim bits("rabitq");
    CheckInvalid(bits.OpenWith("codes", 64 + 3, value));
    CheckInvalid(bits.OpenWith("codes", 128 + 64 + 63, value));
  }
  // Finite, of a centroid that is not.
  Victim axes("rabitq/axes");
  CheckInvalid(axes.OpenWith("centroid_scales", 2, std::numeric_limits<float>::max() / 100));
}

TEST_CASE("a file of another shape, and a manifest with another number of files, are refused") {
  Victim victim("rabitq");
  const auto good = victim.manifest;
  const auto check = [&](const bundle::v1::GenerationManifest& manifest) {
    victim.manifest = manifest;
    CheckInvalid(victim.Open(victim.bytes));
  };
  auto other = good;
  other.mutable_index_spec()->mutable_ivf()->set_list_count(7);
  check(other);
  other = good;
  other.mutable_index_spec()->mutable_ivf()->set_code("int8");
  check(other);
  other = good;
  other.mutable_shards(0)->clear_index_files();
  check(other);
  other = good;
  *other.mutable_shards(0)->add_index_files() = good.shards(0).index_files(0);
  check(other);
}

TEST_CASE("vectors that are not those of the manifest are refused") {
  Victim victim("rabitq");
  VectorView view = victim.rows.view();
  --view.rows;
  REQUIRE(absl::IsInvalidArgument(
      OpenIvfShard(victim.dir.path(), victim.manifest, view, &victim.pool).status()));
  REQUIRE(absl::IsInvalidArgument(
      OpenIvfShard(victim.dir.path(), victim.manifest, victim.rows.view(), nullptr).status()));
}

}  // namespace
}  // namespace sightline
