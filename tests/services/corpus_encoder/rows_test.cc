// From units to shards: row files, how they are merged, and who writes.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/index/index_builder.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/merged_rows.h"
#include "services/corpus_encoder/row_work.h"
#include "services/corpus_encoder/shard_work.h"
#include "services/corpus_encoder/unit_file.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 4;

UnitContext Context() {
  UnitContext context;
  context.encoder = std::string(64, 'a');
  return context;
}

std::vector<float> EmbeddingOf(const std::string& id) {
  return {static_cast<float>(std::hash<std::string>()(id) % 100000), 1, 2, 3};
}

// What a job has before it makes rows: pictures with captions, cut into units whose files are
// there.
struct Corpus {
  Corpus(const TempDir& dir, int count, int per_unit, int64_t feature_bytes = 8,
         std::set<int> refused = {})
      : folder(dir.path()), context(Context()) {
    for (int i = 0; i < count; ++i) {
      if (i % per_unit == 0) units.emplace_back();
      ScannedPicture picture;
      picture.item.item_id = absl::StrCat("p/", 100000 + i);
      picture.item.path = "/" + picture.item.item_id;
      picture.item.tags = {"tag"};
      // Twelve captions are not in the order of their numbers.
      for (int k = 0; k < (i % 7 == 0 ? 12 : i % 3); ++k) {
        picture.item.captions.push_back({"en", absl::StrCat("caption ", k, " of ", i)});
      }
      picture.sha256 = absl::StrCat(i);
      units.back().pictures.push_back(std::move(picture));
    }
    for (size_t u = 0; u < units.size(); ++u) {
      units[u].hash = Sha256Hex(absl::StrCat("unit ", u));
      Write(units[u], feature_bytes, refused);
    }
    PutAside();
  }

  // As if those of `refused`, by their place in the unit, had been refused for what may pass.
  void Write(const WorkUnit& unit, int64_t feature_bytes, const std::set<int>& refused) const {
    UnitResult result;
    for (size_t i = 0; i < unit.pictures.size(); ++i) {
      const ScannedPicture& picture = unit.pictures[i];
      result.images.push_back(Row(picture.item.item_id, feature_bytes));
      if (refused.count(static_cast<int>(i)) > 0) {
        result.images.back() = {picture.item.item_id, "no time", {}, {}, /*may_pass=*/true};
        continue;
      }
      for (const CaptionItem& caption : CaptionItemsOf(picture.item, "en")) {
        result.captions.push_back(Row(caption.item_id, 4));
      }
    }
    REQUIRE(WriteUnitFile(folder.UnitPath(unit.hash), unit.hash, kDimension, result).ok());
  }

  static UnitRow Row(const std::string& id, int64_t feature_bytes) {
    UnitRow row;
    row.item_id = id;
    row.embedding = EmbeddingOf(id);
    FeatureTensor tensor;
    tensor.name = "rows";
    tensor.dtype = Dtype::kInt8;
    tensor.rows = 1;
    tensor.columns = feature_bytes;
    tensor.bytes = std::string(feature_bytes, id.back());
    row.features = {{{tensor}}};
    return row;
  }

  void PutAside() {
    const ItemCodec codec;
    spool = std::make_unique<UnitSpool>(*UnitSpool::Create(folder.path(), codec));
    carried = std::make_unique<CarriedSpool>(*CarriedSpool::Create(folder.path(), codec));
    for (const WorkUnit& unit : units) REQUIRE(spool->Add(unit).ok());
    REQUIRE(spool->Finish().ok());
    REQUIRE(carried->Finish().ok());
  }

  RowWorkshop Workshop(const WorkShare& share = {}, int shard_count = 3) {
    tally = std::make_unique<WorkTally>(folder, share);
    RowWorkshop shop;
    shop.folder = &folder;
    shop.share = share;
    shop.content = "content";
    shop.shard_count = shard_count;
    shop.unit_size = 256;  // sixteen units a file
    shop.dimension = kDimension;
    shop.context = &context;
    shop.base = &base;
    for (const WorkUnit& unit : units) {
      shop.picture_count += static_cast<int64_t>(unit.pictures.size());
      for (const ScannedPicture& picture : unit.pictures) {
        shop.caption_count += static_cast<int64_t>(CaptionItemsOf(picture.item, "en").size());
      }
    }
    shop.tally = tally.get();
    return shop;
  }

  absl::Status Make(RowWork& work, int worker = 0) const {
    return work.Make(worker, *spool, *carried, CallContext::Unbounded());
  }

  const WorkFolder folder;
  const UnitContext context;
  const BaseGeneration base;
  std::vector<WorkUnit> units;
  std::unique_ptr<UnitSpool> spool;
  std::unique_ptr<CarriedSpool> carried;
  std::unique_ptr<WorkTally> tally;
};

// Of rows that are sealed.
absl::StatusOr<GenerationRows> Collected(RowWork& work) {
  absl::StatusOr<absl::optional<GenerationRows>> rows = work.Collect(CallContext::Unbounded());
  if (!rows.ok()) return rows.status();
  REQUIRE(rows->has_value());
  return **std::move(rows);
}

GenerationSpec Spec(const TempDir& store, ItemIndex index, int shard_count = 3) {
  GenerationSpec spec;
  spec.store = store.path();
  spec.index = index == ItemIndex::kImages ? "images" : "captions";
  spec.item_kind = index == ItemIndex::kImages ? bundle::v1::IMAGE : bundle::v1::CAPTION;
  spec.generation = "g";
  spec.shard_count = shard_count;
  spec.embedding.set_dimension(kDimension);
  spec.embedding.set_metric(bundle::v1::EmbeddingSpec::COSINE);
  spec.embedding.set_space(std::string(64, 'a'));
  spec.encoder_model = std::string(64, 'a');
  spec.rerankers = {{kDefaultReranker, spec.encoder_model}};
  spec.content = "c";
  return spec;
}

// Writes all shards of collected rows as a job of one worker would.
struct Writing {
  Writing(const TempDir& store, const Corpus& corpus, const RowWork& work, GenerationRows& rows,
          int shard_count = 3)
      : images(Spec(store, ItemIndex::kImages, shard_count)),
        captions(Spec(store, ItemIndex::kCaptions, shard_count)),
        progress({}, Clock::Real()) {
    ShardWorkshop shop;
    shop.folder = &corpus.folder;
    shop.images = &images;
    shop.captions = &captions;
    shop.base = &corpus.base;
    shop.row_work = &work;
    shop.rows = &rows;
    shop.tally = corpus.tally.get();
    shop.progress = &progress;
    shards = std::make_unique<ShardWork>(shop);
  }

  absl::StatusOr<bool> Run() { return shards->WriteAll(CallContext::Unbounded()); }

  // Embeddings of all items, by id; items must be in order.
  std::map<std::string, std::vector<float>> Items(const TempDir& store, ItemIndex index) const {
    const GenerationSpec& spec = index == ItemIndex::kImages ? images : captions;
    const std::string directory = GenerationDirectory(store.path(), spec.index, "g");
    std::map<std::string, std::vector<float>> items;
    for (const auto& shard : shards->manifests(index)) {
      const auto vectors =
          ShardVectors::Open(JoinPath(directory, shard.vectors().path()), shard, kDimension);
      REQUIRE(vectors.ok());
      REQUIRE((*vectors)->Load(CallContext::Unbounded()).ok());
      for (int64_t row = 0; row < (*vectors)->size(); ++row) {
        items[std::string((*vectors)->item_id(row))] = StoredEmbedding(**vectors, row);
      }
    }
    return items;
  }

  const GenerationSpec images, captions;
  Progress progress;
  std::unique_ptr<ShardWork> shards;
};

TEST_CASE("every item is in its shard with its own embedding, from one file of rows or many") {
  for (const int per_unit : {40, 3}) {
    const TempDir dir;
    Corpus corpus(dir, 700, per_unit);
    RowWork work(corpus.Workshop());
    REQUIRE(corpus.Make(work).ok());
    auto rows = Collected(work);
    REQUIRE(rows.ok());
    REQUIRE(rows->files.size() > (per_unit == 3 ? 8U : 0U));
    Writing writing(dir, corpus, work, *rows);
    REQUIRE(*writing.Run());
    const auto images = writing.Items(dir, ItemIndex::kImages);
    REQUIRE(images.size() == 700);
    for (const auto& [id, embedding] : images) REQUIRE(embedding == EmbeddingOf(id));
    const auto captions = writing.Items(dir, ItemIndex::kCaptions);
    REQUIRE(static_cast<int64_t>(captions.size()) == rows->caption_count);
    REQUIRE(captions.count("p/100000#en-12") == 1);
    for (const auto& [id, embedding] : captions) REQUIRE(embedding == EmbeddingOf(id));
  }
}

TEST_CASE("rows made by three workers give the files that those of one give") {
  std::map<std::string, std::string> files[2];
  for (const int workers : {1, 3}) {
    const TempDir dir;
    Corpus corpus(dir, 500, 5);
    RowWork work(corpus.Workshop({0, workers}));
    for (int worker = 0; worker < workers; ++worker) REQUIRE(corpus.Make(work, worker).ok());
    auto rows = Collected(work);
    REQUIRE(rows.ok());
    Writing writing(dir, corpus, work, *rows);
    REQUIRE(*writing.Run());
    const std::vector<std::string> names = *ListFilesBelow(dir.File("indexes"));
    for (const std::string& name : names) {
      files[workers == 1 ? 0 : 1][name] = *ReadFile(dir.File("indexes/" + name));
    }
  }
  REQUIRE(files[0].size() == 12);
  REQUIRE(files[0] == files[1]);
}

TEST_CASE("a unit that is made anew while rows are written changes no row, and is noticed") {
  const TempDir dir;
  // Without the first picture of each unit, the captions of the others stand further ahead.
  Corpus corpus(dir, 64, 16, 8, {0});
  RowWork work(corpus.Workshop());
  REQUIRE(corpus.Make(work).ok());
  auto before = Collected(work);
  REQUIRE(before.ok());
  REQUIRE(before->bad_images.size() == 4);
  for (const WorkUnit& unit : corpus.units) corpus.Write(unit, 8, {});

  Writing old(dir, corpus, work, *before);
  REQUIRE(*old.Run());
  for (const ItemIndex index : kItemIndexes) {
    const auto items = old.Items(dir, index);
    REQUIRE(items.count("p/100000") + items.count("p/100000#en-1") == 0);
    for (const auto& [id, embedding] : items) REQUIRE(embedding == EmbeddingOf(id));
  }

  // Its worker comes again, and seals other rows: shards of the first are not mixed with them.
  REQUIRE(corpus.Make(work).ok());
  Writing mixed(dir, corpus, work, *before);
  std::filesystem::remove_all(dir.File("shards"));
  REQUIRE(!*mixed.Run());
  auto after = Collected(work);
  REQUIRE(after.ok());
  REQUIRE(after->digest != before->digest);
  REQUIRE(after->bad_images.size() == 0);
  Writing anew(dir, corpus, work, *after);
  REQUIRE(*anew.Run());
  REQUIRE(anew.Items(dir, ItemIndex::kImages).size() == 64);
  for (const auto& [id, embedding] : anew.Items(dir, ItemIndex::kCaptions)) {
    REQUIRE(embedding == EmbeddingOf(id));
  }
}

TEST_CASE("shards and rows that are there and whole are kept, others are made anew") {
  const TempDir dir;
  Corpus corpus(dir, 300, 5);
  RowWork work(corpus.Workshop());
  REQUIRE(corpus.Make(work).ok());
  auto rows = Collected(work);
  Writing first(dir, corpus, work, *rows);
  REQUIRE(*first.Run());
  const auto inode = [](const std::string& path) {
    struct stat info;
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_ino;
  };
  const std::string shards = dir.File("indexes/images/generations/g/shards/");
  const std::string kept = shards + "00000-of-00003.vectors";
  const std::string bent = shards + "00001-of-00003.vectors";
  const auto kept_inode = inode(kept), bent_inode = inode(bent);
  const std::string whole = *ReadFile(bent);
  std::string bytes = whole;
  bytes[5000] = static_cast<char>(bytes[5000] ^ 1);
  REQUIRE(WriteFileAtomically(bent, bytes).ok());
  REQUIRE(inode(bent) != bent_inode);
  std::string row_bytes = *ReadFile(rows->files[1]);
  const auto row_inode = inode(rows->files[0]);
  row_bytes[row_bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(rows->files[1], row_bytes).ok());

  RowWork again(corpus.Workshop());
  REQUIRE(corpus.Make(again).ok());
  REQUIRE(inode(rows->files[0]) == row_inode);
  auto rows_again = Collected(again);
  REQUIRE(rows_again.ok());
  REQUIRE(rows_again->digest == rows->digest);
  Writing second(dir, corpus, again, *rows_again);
  REQUIRE(*second.Run());
  REQUIRE(inode(kept) == kept_inode);
  REQUIRE(*ReadFile(bent) == whole);
}

TEST_CASE("rows whose seal is gone hold no more, before a shard and when all are written") {
  const TempDir dir;
  Corpus corpus(dir, 60, 10);
  RowWork work(corpus.Workshop());
  REQUIRE(corpus.Make(work).ok());
  auto rows = *work.Collect(CallContext::Unbounded());
  REQUIRE(*work.AreSealed(rows->digest));
  Writing writing(dir, corpus, work, *rows);
  REQUIRE(*writing.Run());
  std::filesystem::remove(work.SealPath(0));
  REQUIRE(!*work.AreSealed(rows->digest));
  REQUIRE(!*writing.Run());
  REQUIRE(!work.Collect(CallContext::Unbounded())->has_value());
  REQUIRE(corpus.Make(work).ok());
  REQUIRE(*writing.Run());
}

TEST_CASE("a row file that is damaged, gone or on a bad block breaks its seal, and names it") {
  const TempDir dir;
  Corpus corpus(dir, 60, 10);
  for (const std::string found : {"damaged", "gone", "unreadable"}) {
    CAPTURE(found);
    RowWork made(corpus.Workshop({0, 2}));
    for (const int worker : {0, 1}) REQUIRE(corpus.Make(made, worker).ok());
    const std::string damaged = made.SealPath(1);
    const std::string path = corpus.folder.RowsPath(*ReadFile(damaged));
    std::string bytes = *ReadFile(path);
    bytes[bytes.size() / 2] ^= 1;
    if (found == "gone") std::filesystem::remove(path);
    if (found == "damaged") REQUIRE(WriteFileAtomically(path, bytes).ok());
    RowWork work(corpus.Workshop({0, 2}));
    REQUIRE(corpus.Make(work, 0).ok());
    const FailingReads failing({path, EIO, found == "unreadable" ? 2 : INT_MAX});
    const absl::Status status = work.Collect(CallContext::Unbounded()).status();
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()),
                 Catch::Contains(path) && Catch::Contains("run worker 1 again"));
    REQUIRE(!FileExists(damaged));
    REQUIRE(FileExists(work.SealPath(0)));
  }
}

TEST_CASE("a process compares the checksums of each row file of another once") {
  const TempDir dir;
  Corpus corpus(dir, 60, 10);
  RowWork made(corpus.Workshop());
  REQUIRE(corpus.Make(made).ok());
  const std::string path = corpus.folder.RowsPath(*ReadFile(made.SealPath(0)));
  RowWork work(corpus.Workshop());
  REQUIRE(work.Collect(CallContext::Unbounded()).ok());
  std::string bytes = *ReadFile(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // of a tensor
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  REQUIRE(work.Collect(CallContext::Unbounded()).ok());
  RowWork late(corpus.Workshop());
  REQUIRE(absl::IsDataLoss(late.Collect(CallContext::Unbounded()).status()));
}

TEST_CASE("rows count what is in them, and less or more than the corpus has is refused") {
  const TempDir dir;
  // The first picture of each unit is bad, and takes twelve captions along, or up to two.
  Corpus corpus(dir, 64, 16, 8, {0});
  const RowWorkshop whole = corpus.Workshop();
  {
    RowWork work(whole);
    REQUIRE(corpus.Make(work).ok());
    const auto rows = *work.Collect(CallContext::Unbounded());
    REQUIRE(rows->image_count == 60);
    REQUIRE(rows->bad_images.size() == 4);
    REQUIRE(rows->caption_count > 0);
    REQUIRE(rows->caption_count < whole.caption_count);
  }
  for (const int of_pictures : {-1, 0, 1}) {
    RowWorkshop shop = whole;
    shop.picture_count += of_pictures;
    if (of_pictures == 0) ++shop.caption_count;
    RowWork work(shop);
    REQUIRE(corpus.Make(work).ok());
    REQUIRE(absl::IsAborted(work.Collect(CallContext::Unbounded()).status()));
    REQUIRE(!FileExists(work.SealPath(0)));
  }
}

TEST_CASE("a unit of other items than its pictures is damaged") {
  const TempDir dir;
  Corpus corpus(dir, 60, 10);
  corpus.units[1].pictures[3].item.item_id = "other";
  corpus.PutAside();
  RowWork work(corpus.Workshop());
  const absl::Status status = corpus.Make(work);
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains(corpus.units[1].hash + ".unit"));
}

TEST_CASE("rows are read in order, again from the first, and in no other way") {
  const TempDir dir;
  Corpus corpus(dir, 300, 5);
  RowWork work(corpus.Workshop());
  REQUIRE(corpus.Make(work).ok());
  auto rows = Collected(work);
  RowSources sources;
  sources.files = rows->files;
  sources.shard_count = 3;
  sources.dimension = kDimension;
  const auto shard = MergedRows::Open(sources, ItemIndex::kImages, 1, CallContext::Unbounded());
  REQUIRE(shard.ok());
  std::string last;
  for (int pass = 0; pass < 2; ++pass) {
    last.clear();
    for (int64_t i = 0; i < (*shard)->size(); ++i) {
      const auto record = (*shard)->Record(i);
      REQUIRE(record.ok());
      REQUIRE((*record)->item_id > last);
      last = (*record)->item_id;
      REQUIRE((*shard)->Embedding(i)->at(0) == EmbeddingOf(last)[0]);
      REQUIRE((*(*shard)->Features(i, 0))->tensors.at(0).bytes == std::string(8, last.back()));
      REQUIRE((*(*shard)->Features(i, 1))->tensors.empty());
    }
  }
  REQUIRE(!(*shard)->Record((*shard)->size()).ok());
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

absl::Status WriteAll(const TempDir& dir, Corpus& corpus) {
  RowWork work(corpus.Workshop({}, 1));
  const absl::Status made = corpus.Make(work);
  if (!made.ok()) return made;
  auto rows = Collected(work);
  if (!rows.ok()) return rows.status();
  Writing writing(dir, corpus, work, *rows, 1);
  const auto written = writing.Run();
  if (!written.ok()) return written.status();
  if (writing.shards->manifests(ItemIndex::kImages)[0].features().byte_count() < (128 << 20)) {
    return absl::InternalError("too short");
  }
  return absl::OkStatus();
}

TEST_CASE("a shard of 128 MiB is written with 24 MiB of memory") {
  TempDir dir;
  Corpus corpus(dir, 128, 8, int64_t{1} << 20);
  const pid_t pid = ::fork();
  if (pid == 0) {
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = DataBytes() + (int64_t{24} << 20);
    ::setrlimit(RLIMIT_DATA, &limit);
    try {
      ::_exit(WriteAll(dir, corpus).ok() ? 0 : 1);
    } catch (const std::bad_alloc&) {
      ::_exit(2);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
}
#endif

TEST_CASE("a generation that is there with this content is found, with other content refused") {
  const TempDir dir;
  Corpus corpus(dir, 40, 8);
  REQUIRE(absl::IsNotFound(FindWrittenGeneration(dir.path(), "images", "g", "c").status()));
  RowWork work(corpus.Workshop());
  REQUIRE(corpus.Make(work).ok());
  auto rows = Collected(work);
  Writing writing(dir, corpus, work, *rows);
  REQUIRE(*writing.Run());
  auto warnings = Warnings::Create(dir.path());
  REQUIRE(warnings->Finish().ok());
  REQUIRE(rows->bad_images.Add({"x", "", "bad"}).ok());
  const auto finish = [&] {
    return FinishGeneration(
        writing.images, writing.shards->manifests(ItemIndex::kImages),
        [](int) { return EmbeddingMatrix(); }, rows->bad_images, *warnings,
        CallContext::Unbounded());
  };
  REQUIRE(!finish()->already_there);
  const auto found = FindWrittenGeneration(dir.path(), "images", "g", "c");
  REQUIRE(found.ok());
  REQUIRE(found->already_there);
  REQUIRE(found->item_count == 40);
  REQUIRE(found->quarantined_count == 1);
  REQUIRE(
      absl::IsAlreadyExists(FindWrittenGeneration(dir.path(), "images", "g", "other").status()));
  // Killed when the manifest was written, a run leaves what its index was built from.
  const std::string directory = GenerationDirectory(dir.path(), "images", "g");
  REQUIRE(MakeDirectories(IndexWorkFolder(directory)).ok());
  REQUIRE(finish()->already_there);
  REQUIRE(!FileExists(IndexWorkFolder(directory)));
}

}  // namespace
}  // namespace sightline
