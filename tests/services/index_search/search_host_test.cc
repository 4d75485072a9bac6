#include "services/index_search/search_host.h"

#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/shard_writer.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/verify.h"
#include "common/index/index_kinds.h"
#include "common/index/recall_probes.h"
#include "common/indexing/make_index.h"
#include "services/index_search/shard_footprint.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using Manifest = GenerationHost::Manifest;

const CallContext kCall = CallContext::Unbounded();

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  REQUIRE(value.ok());
  return *std::move(value);
}

std::string ReasonOf(const absl::Status& status) {
  const auto reason = GetReason(status);
  return reason.has_value() ? reason->reason : status.ToString();
}

// A generation of one shard with probes, at most 64 KiB, and who may serve it.
struct Rig {
  explicit Rig(int shards = 1, std::vector<int> wanted = {}) {
    const auto written = WriteTestGeneration(store.path(), "g1", 20, shards);
    REQUIRE(written.ok());
    manifest = *written;
    EmbeddingMatrix queries(4, kTestDimension);
    for (int64_t i = 0; i < 4; ++i) queries.mutable_row(i)[i] = 1;
    directory = GenerationDirectory(store.path(), "images", "g1");
    REQUIRE(AddRecallProbes(directory, queries, {}, &pool, kCall, &manifest).ok());
    host = std::make_unique<SearchHost>(
        SearchHostOptions{store.path(), "", std::move(wanted), true}, &pool, &janitor, &devices);
  }

  std::string Path(const bundle::v1::BundleFile& file) const {
    return JoinPath(directory, file.path());
  }
  // As the follower does: checked, and verified while it is loaded.
  absl::Status Hold(const Manifest& wanted) {
    const absl::Status checked = host->Check(wanted);
    return checked.ok() ? host->Load(wanted, /*verified=*/false, kCall).status() : checked;
  }

  TempDir store;
  std::string directory;
  Manifest manifest;
  ComputePool pool{1};
  Janitor janitor;
  SearchDevices devices{{}, nullptr};
  std::unique_ptr<SearchHost> host;
};

// A file of the generation, as it is and as somebody leaves it.
struct Patient {
  std::string path;
  std::string whole;
  bundle::v1::BundleFile* description;  // in a manifest of the patient's own
};

std::vector<Patient> FilesOf(const Rig& rig, Manifest* manifest) {
  std::vector<Patient> files;
  for (bundle::v1::BundleFile* file : {manifest->mutable_shards(0)->mutable_vectors(),
                                       manifest->mutable_shards(0)->mutable_probes()}) {
    const std::string path = rig.Path(*file);
    files.push_back({path, *ReadFile(path), file});
    REQUIRE(files.back().whole.size() <= 64 * 1024);
  }
  return files;
}

// Ends and beginnings of everything in a container, and one byte to both sides.
std::set<size_t> Edges(const std::string& bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const auto container = Container::FromBytes(absl::string_view(copy.data(), copy.size()));
  REQUIRE(container.ok());
  std::set<size_t> edges;
  const auto add = [&](int64_t at) {
    for (int64_t near = at - 1; near <= at + 1; ++near) {
      if (near >= 0 && near != static_cast<int64_t>(bytes.size())) {
        edges.insert(static_cast<size_t>(near));
      }
    }
  };
  add(0);
  add(40);
  for (const Section& section : (*container)->sections()) {
    add(section.offset);
    add(section.offset + section.length);
  }
  return edges;
}

TEST_CASE("a sound generation is held, with what it takes of memory") {
  Rig rig(2);
  CHECK(rig.Hold(rig.manifest).ok());
  const Manifest* one = &rig.manifest;
  const int64_t told = *rig.host->Footprint(absl::MakeConstSpan(&one, 1));
  const auto held = rig.host->Load(rig.manifest, /*verified=*/true, kCall);
  REQUIRE(held.ok());
  const auto& shards = static_cast<const SearchGeneration*>(held->held.get())->shards;
  REQUIRE(shards.size() == 2);
  int64_t sum = 0;
  for (const auto& [number, shard] : shards) {
    const ShardFootprint expected = FootprintOf(*OrDie(IndexKindOf(rig.manifest)), rig.directory,
                                                rig.manifest, number, {EmbeddingPlace::kMemory});
    const ShardFootprint taken = TakenBy(*shard);
    CHECK(taken.rows == expected.rows);
    CHECK(taken.index == expected.index);
    CHECK(taken.records > 0);
    CHECK(taken.records <= expected.records);
    CHECK(taken.postings > 0);
    CHECK(taken.postings <= expected.postings);
    sum += expected.total();
  }
  CHECK(told == sum);
}

TEST_CASE("postings of short tags that all differ are told before they are loaded") {
  Rig rig;
  std::vector<EncodedItem> items(4000);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].record.item_id = absl::StrFormat("%04d", i);
    items[i].record.tags = {absl::StrFormat("%03x", i)};
    items[i].embedding.assign(kTestDimension, 1.0f);
  }
  *rig.manifest.mutable_shards(0) =
      *WriteShard(rig.directory, 0, 1, kTestDimension, {}, std::move(items));
  rig.manifest.clear_recall_probe();
  const IndexKind& kind = *OrDie(IndexKindOf(rig.manifest));
  const auto told = [&](const std::string& directory) {
    return FootprintOf(kind, directory, rig.manifest, 0, {EmbeddingPlace::kMemory});
  };
  const auto held = rig.host->Load(rig.manifest, /*verified=*/true, kCall);
  REQUIRE(held.ok());
  const ShardFootprint taken =
      TakenBy(*static_cast<const SearchGeneration*>(held->held.get())->shards.at(0));
  CHECK(taken.postings >= 4000 * 20);
  CHECK(taken.postings <= told(rig.directory).postings);
  // Before there is a file, all texts are told, of which such tags are more than that.
  CHECK(told("nowhere").postings > 0);
  CHECK(told("nowhere").postings < taken.postings);
  CHECK(told("nowhere").rows == taken.rows);
}

TEST_CASE("a server of one shard reads and counts that shard alone") {
  Rig rig(2, {1});
  Overwrite(rig.Path(rig.manifest.shards(0).vectors()), "gone");
  CHECK(rig.Hold(rig.manifest).ok());
  const Manifest* one = &rig.manifest;
  CHECK(*rig.host->Footprint(absl::MakeConstSpan(&one, 1)) ==
        FootprintOf(*OrDie(IndexKindOf(rig.manifest)), rig.directory, rig.manifest, 1,
                    {EmbeddingPlace::kMemory})
            .total());
  for (const std::string& file : rig.host->Files(rig.manifest)) {
    CHECK(file.find("00000-of-00002") == std::string::npos);
  }
}

TEST_CASE("a shard that the generation has not is refused, and other shards would be other files") {
  Rig rig(2, {0, 3});
  CHECK(ReasonOf(rig.Hold(rig.manifest)) == reasons::kNoSuchShard.name);
  Rig other(2, {0});
  CHECK(rig.host->Files(rig.manifest).size() == other.host->Files(other.manifest).size() + 1);
}

TEST_CASE("rows on the disk take four bytes each, and lies add up to what is too much") {
  Rig rig;
  const IndexKind& kind = *OrDie(IndexKindOf(rig.manifest));
  const ShardFootprint memory =
      FootprintOf(kind, rig.directory, rig.manifest, 0, {EmbeddingPlace::kMemory});
  const ShardFootprint disk =
      FootprintOf(kind, rig.directory, rig.manifest, 0, {EmbeddingPlace::kDisk});
  CHECK(memory.rows == 20 * 64);
  CHECK(disk.rows == 20 * 4);
  CHECK(disk.records == memory.records);
  CHECK(disk.postings == memory.postings);
  Manifest halves = rig.manifest;
  halves.mutable_embedding()->set_dimension(4096);
  SetVectorDtype(Dtype::kFloat16, &halves);
  CHECK(FootprintOf(kind, rig.directory, halves, 0, {EmbeddingPlace::kMemory}).rows ==
        20 * 2 * 4096);
  CHECK(FootprintOf(kind, rig.directory, halves, 0, {EmbeddingPlace::kMemory}).records ==
        0);  // it lies
  Manifest lying = rig.manifest;
  lying.mutable_shards(0)->set_item_count(INT64_MAX);
  lying.mutable_shards(0)->mutable_vectors()->set_byte_count(INT64_MAX);
  CHECK(FootprintOf(kind, rig.directory, lying, 0, {EmbeddingPlace::kMemory}).total() == INT64_MAX);
  CHECK(FootprintOf(kind, rig.directory, lying, 0, {EmbeddingPlace::kDisk}).total() == INT64_MAX);
}

TEST_CASE("rows on the disk are refused where the kind reads all of them, whoever wants it") {
  Rig rig;
  SearchHost disk({rig.store.path(), "", {}, true, RowsPlace::kDisk}, &rig.pool, &rig.janitor,
                  &rig.devices);
  CHECK(ReasonOf(disk.Check(rig.manifest)) == reasons::kRowsNotOnDisk.name);
  rig.manifest.mutable_index_spec()->set_kind("flat");
  rig.manifest.mutable_index_spec()->set_rows_on_disk(true);
  CHECK(ReasonOf(rig.host->Check(rig.manifest)) == reasons::kRowsNotOnDisk.name);
  SearchHost memory({rig.store.path(), "", {}, true, RowsPlace::kMemory}, &rig.pool, &rig.janitor,
                    &rig.devices);
  CHECK(memory.Check(rig.manifest).ok());
  CHECK(memory.Load(rig.manifest, /*verified=*/false, kCall).ok());
}

TEST_CASE("parameters that the kind does not have are the manifest's fault") {
  Rig rig;
  bundle::v1::IndexSpec* const spec = rig.manifest.mutable_index_spec();
  spec->set_kind("flat");
  CHECK(rig.host->Check(rig.manifest).ok());
  spec->mutable_hnsw()->set_link_count(16);
  spec->mutable_hnsw()->set_build_effort(100);
  spec->mutable_hnsw()->set_code("rows");
  CHECK(ReasonOf(rig.host->Check(rig.manifest)) == reasons::kManifestInvalid.name);
}

TEST_CASE("recall below the floor is refused") {
  Rig rig;
  // What passes for truth are the worst rows, so that an honest index misses them.
  Probes probes = *ReadProbes(rig.Path(rig.manifest.shards(0).probes()), rig.manifest, 0);
  for (auto& neighbors : probes.neighbors) {
    std::set<int64_t> best(neighbors.begin(), neighbors.end());
    neighbors.clear();
    for (int64_t row = 0; row < rig.manifest.shards(0).item_count(); ++row) {
      if (best.count(row) == 0 && neighbors.size() < best.size()) neighbors.push_back(row);
    }
  }
  *rig.manifest.mutable_shards(0)->mutable_probes() =
      *WriteProbes(rig.directory, "shards/bad.probes", probes);
  CHECK(ReasonOf(rig.Hold(rig.manifest)) == reasons::kRecallTooLow.name);
  rig.manifest.mutable_recall_probe()->set_floor(0);
  CHECK(rig.Hold(rig.manifest).ok());
}

// What a section of an index file says of rows, it says of others.
void Spoil(const Rig& rig, const std::string& section, bundle::v1::BundleFile* file) {
  std::string bytes = *ReadFile(rig.Path(*file));
  const auto of_rows = RepairChecksums(&bytes, section);
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(of_rows.offset);
  const int64_t items = rig.manifest.shards(0).item_count();
  const auto each = static_cast<std::ptrdiff_t>(of_rows.length) / items;
  std::rotate(begin, begin + items / 2 * each, begin + items * each);
  RepairChecksums(&bytes);
  REQUIRE(WriteFileAtomically(rig.Path(*file), bytes).ok());
  file->set_sha256(Sha256Hex(bytes));
}

// Directions drawn at random.
EmbeddingMatrix Directions(int64_t count, uint32_t seed) {
  EmbeddingMatrix directions(count, kTestDimension);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    float squares = 0;
    for (float& number : directions.mutable_row(i)) {
      number = normal(random);
      squares += number * number;
    }
    for (float& number : directions.mutable_row(i)) number /= std::sqrt(squares);
  }
  return directions;
}

// Gives the generation `count` items in such directions.
void PlaceAround(Rig* rig, int count) {
  const EmbeddingMatrix directions = Directions(count, 5);
  std::vector<EncodedItem> items(count);
  for (int i = 0; i < count; ++i) {
    items[i].record.item_id = absl::StrFormat("%05d", i);
    items[i].embedding.assign(directions.row(i).begin(), directions.row(i).end());
  }
  *rig->manifest.mutable_shards(0) =
      *WriteShard(rig->directory, 0, 1, kTestDimension, {}, std::move(items));
  rig->manifest.set_item_count(count);
  rig->manifest.clear_reranker_model();  // which needs features
}

TEST_CASE("an index that was spoilt is refused, though its checksums are right") {
  const std::pair<std::string, std::string> specs[] = {
      {"kind: 'ivf' seed: 1 ivf { code: 'rows' list_count: 100 }", "rows"},
      {"kind: 'ivf' seed: 1 ivf { code: 'int8' list_count: 100 }", "rows"},
      {"kind: 'ivf' seed: 1 ivf { code: 'pq4' list_count: 100 }", "rows"},
      {"kind: 'ivf' seed: 1 ivf { code: 'rabitq' list_count: 100 }", "rows"},
      {"kind: 'hnsw' seed: 1 hnsw { code: 'rows' link_count: 8 }", "nodes"},
      {"kind: 'hnsw' seed: 1 hnsw { code: 'int8' link_count: 8 }", "nodes"}};
  for (const auto& [spec, section] : specs) {
    Rig rig;
    PlaceAround(&rig, 3000);
    IndexWish wish;
    REQUIRE(google::protobuf::TextFormat::ParseFromString(spec, &wish.spec));
    const auto queries = [](int count) { return Directions(count, 3); };
    REQUIRE(
        MakeIndex(rig.directory, wish, queries, {}, &rig.pool, kCall, nullptr, &rig.manifest).ok());
    INFO(spec << ", floor " << rig.manifest.recall_probe().floor());
    CHECK(rig.manifest.recall_probe().floor() > 0.6);
    REQUIRE(ReasonOf(rig.Hold(rig.manifest)) == "OK");
    Spoil(rig, section, rig.manifest.mutable_shards(0)->mutable_index_files(0));
    CHECK(ReasonOf(rig.Hold(rig.manifest)) == reasons::kRecallTooLow.name);
  }
}

TEST_CASE("another embedding space is refused, though the dimension is the same") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 4);
  Manifest manifest = *ReadGenerationManifest(store.path, kTinyImages, kTinyGeneration);
  ComputePool pool(1);
  Janitor janitor;
  SearchDevices devices({}, nullptr);
  SearchHost host({store.path, "", {}, true}, &pool, &janitor, &devices);
  CHECK(host.Check(manifest).ok());
  manifest.mutable_embedding()->set_space(std::string(64, '0'));
  CHECK(ReasonOf(host.Check(manifest)) == reasons::kEmbeddingSpaceMismatch.name);
}

TEST_CASE("a file that ends at any edge is refused, by its length or by what is missing") {
  Rig rig;
  Manifest manifest = rig.manifest;
  for (Patient& file : FilesOf(rig, &manifest)) {
    for (const size_t length : Edges(file.whole)) {
      INFO(file.path << " cut to " << length << " of " << file.whole.size());
      std::string cut = file.whole;
      cut.resize(length, '\0');
      Overwrite(file.path, cut);
      CHECK(ReasonOf(rig.Hold(rig.manifest)) == reasons::kLengthMismatch.name);
      // Somebody has signed the manifest again.
      file.description->set_byte_count(static_cast<int64_t>(length));
      CHECK(ReasonOf(rig.Hold(manifest)) == reasons::kContentInvalid.name);
      file.description->set_byte_count(static_cast<int64_t>(file.whole.size()));
    }
    Overwrite(file.path, file.whole);
  }
  CHECK(rig.Hold(rig.manifest).ok());
}

TEST_CASE("a flipped bit is refused, wherever it is") {
  Rig rig;
  Manifest manifest = rig.manifest;
  std::mt19937 random(7);
  std::map<std::string, int> seen;
  for (const Patient& file : FilesOf(rig, &manifest)) {
    for (int i = 0; i < 1500; ++i) {
      std::string flipped = file.whole;
      const size_t at = random() % flipped.size();
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
      Overwrite(file.path, flipped);
      const std::string reason = ReasonOf(rig.Hold(rig.manifest));
      INFO(file.path << " at " << at);
      // The magic and the numbers that its own checksum guards come first.
      CHECK((reason == reasons::kChecksumMismatch.name ||
             (at < 40 && reason == reasons::kContentInvalid.name)));
      ++seen[reason];
    }
    Overwrite(file.path, file.whole);
  }
  CHECK(seen[reasons::kChecksumMismatch.name] > 2900);
  CHECK(rig.Hold(rig.manifest).ok());
}

// Numbers that lie, under checksums that are right: every field of the header and of the
// section table, and the offsets inside of sections.
TEST_CASE("lengths that lie under right checksums are refused or harmless, and never crash") {
  Rig rig;
  Manifest manifest = rig.manifest;
  std::mt19937_64 random(11);
  const std::vector<uint64_t> lies = {0, 1, 63, 4096, 1 << 20, uint64_t{1} << 40, ~uint64_t{0}};
  for (const Patient& file : FilesOf(rig, &manifest)) {
    const size_t table_end = 40 + NumberAt<uint64_t>(file.whole, 16);
    int refused = 0;
    const auto hold = [&](std::string lying) {
      RepairChecksums(&lying);
      Overwrite(file.path, lying);
      const absl::Status status = rig.Hold(rig.manifest);
      if (!status.ok()) {
        ++refused;
        const std::string reason = ReasonOf(status);
        CHECK((reason == reasons::kContentInvalid.name || reason == reasons::kRecallTooLow.name ||
               reason == reasons::kChecksumMismatch.name));
      }
    };
    // The table's framing (name lengths, ranks, counts) is walked by RepairChecksums, so only
    // numbers behind the header are moved, one after another, where that still works.
    const Place ids = RepairChecksums(&const_cast<std::string&>(file.whole), "item_id/offsets");
    for (size_t at = ids.offset; at + 8 <= ids.offset + ids.length; at += 8) {
      for (const uint64_t lie : lies) {
        std::string lying = file.whole;
        PatchNumber(lie, at, &lying);
        hold(std::move(lying));
      }
    }
    for (int i = 0; i < 1000; ++i) {
      std::string lying = file.whole;
      const size_t at = table_end + random() % (lying.size() - table_end - 8);
      PatchNumber(random() % 2 == 0 ? lies[random() % lies.size()] : random(), at, &lying);
      hold(std::move(lying));
    }
    CHECK(refused > 100);
    Overwrite(file.path, file.whole);
  }
  CHECK(rig.Hold(rig.manifest).ok());
}

TEST_CASE("a file of the kind of index is checked as the vectors are") {
  Rig rig(2, {1});
  const size_t before = rig.host->Files(rig.manifest).size();
  const std::string path = *AddIndexFile(rig.store.path(), 1, "a graph", &rig.manifest);
  // Of a shard that is not held.
  REQUIRE(::unlink(AddIndexFile(rig.store.path(), 0, "a graph", &rig.manifest)->c_str()) == 0);
  CHECK(rig.Hold(rig.manifest).ok());
  const std::vector<std::string> files = rig.host->Files(rig.manifest);
  CHECK(files.size() == before + 1);
  CHECK(std::count(files.begin(), files.end(), path) == 1);

  Overwrite(path, "a grapf");
  CHECK(rig.host->Check(rig.manifest).ok());
  CHECK(ReasonOf(rig.host->Verify(rig.manifest, kCall)) == reasons::kChecksumMismatch.name);
  CHECK(ReasonOf(rig.Hold(rig.manifest)) == reasons::kChecksumMismatch.name);
  Overwrite(path, "a grap");
  CHECK(ReasonOf(rig.host->Check(rig.manifest)) == reasons::kLengthMismatch.name);
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK(ReasonOf(rig.host->Check(rig.manifest)) == reasons::kFileMissing.name);
}

TEST_CASE("a manifest that lies about counts is refused") {
  Rig rig;
  const auto refuse = [&](const std::function<void(Manifest*)>& lie, const Reason& reason) {
    Manifest manifest = rig.manifest;
    lie(&manifest);
    const absl::Status status = rig.Hold(manifest);
    INFO(status);
    CHECK(ReasonOf(status) == reason.name);
  };
  for (const int64_t lie : {0, 19, 21}) {
    refuse(
        [&](Manifest* m) {
          m->set_item_count(lie);
          m->mutable_shards(0)->set_item_count(lie);
        },
        reasons::kContentInvalid);
  }
  refuse([](Manifest* m) { m->mutable_embedding()->set_dimension(6); }, reasons::kContentInvalid);
  refuse([](Manifest* m) { m->mutable_recall_probe()->set_query_count(1024); },
         reasons::kContentInvalid);
  refuse([](Manifest* m) { m->mutable_shards(0)->mutable_vectors()->set_path("shards/none"); },
         reasons::kFileMissing);
  refuse(
      [](Manifest* m) {
        auto* vectors = m->mutable_shards(0)->mutable_vectors();
        vectors->set_byte_count(INT64_MAX);
      },
      reasons::kLengthMismatch);
}

TEST_CASE("a read that fails while a shard is loaded is trouble of the machine, and no damage") {
  Rig rig;
  for (const bundle::v1::BundleFile* file :
       {&rig.manifest.shards(0).vectors(), &rig.manifest.shards(0).probes()}) {
    int failed = 0;
    for (bool done = false; !done; ++failed) {
      const FailingReads failing({file->path(), EIO, failed});
      const absl::Status status = rig.Hold(rig.manifest);
      CAPTURE(file->path(), failed, status);
      done = status.ok();
      if (done) continue;
      CHECK(ReasonOf(status) == reasons::kReadFailed.name);
      CHECK(std::string(status.message()).find(file->path()) != std::string::npos);
    }
    CHECK(failed > 4);
  }
}

TEST_CASE("a shard that is held is searched without a look at its file") {
  Rig rig;
  const auto held = rig.host->Load(rig.manifest, /*verified=*/false, kCall);
  REQUIRE(held.ok());
  const SearchableShard& shard =
      *static_cast<const SearchGeneration*>(held->held.get())->shards.at(0);
  const auto search = [&] {
    EmbeddingMatrix query(1, kTestDimension);
    query.mutable_row(0)[0] = 1;
    std::string found;
    const auto neighbors = shard.index->Search(query, {20}, kCall);
    for (const Neighbor& neighbor : neighbors->front()) {
      found += shard.vectors->Record(neighbor.row)->item_id + std::to_string(neighbor.score) + " ";
    }
    return found;
  };
  const std::string expected = search();
  const std::string path = rig.Path(rig.manifest.shards(0).vectors());
  REQUIRE(::truncate(path.c_str(), 100) == 0);
  const FailingReads failing({path, EIO});
  CHECK(search() == expected);
  CHECK(failing.reads() == 0);
}

TEST_CASE("a load reads all of its files, and says so") {
  Rig rig(/*shards=*/2);
  ReadProgress::Files files;
  int64_t probes = 0;  // bytes of their files
  for (const std::string& path : rig.host->Files(rig.manifest)) {
    if (absl::EndsWith(path, kManifestFile)) continue;
    files[path] = *FileSize(path);
    if (absl::EndsWith(path, "probes")) probes += files[path];
  }
  REQUIRE(probes > 0);
  for (const bool verified : {false, true}) {
    CAPTURE(verified);
    ReadProgress progress(files);
    const ReadProgress::Scope scope(&progress);
    REQUIRE(rig.host->Load(rig.manifest, verified, kCall).ok());
    const ReadProgress::Bytes bytes = progress.bytes();
    CHECK(bytes.done > 20 * kTestDimension * int64_t{sizeof(float)});  // the vectors
    // Of probes that were compared before, what lies between their sections is left.
    CHECK(bytes.all - bytes.done < (verified ? probes : 1));
  }
}

}  // namespace
}  // namespace sightline
