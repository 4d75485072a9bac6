#include "services/corpus_encoder/row_file.h"

#include <cerrno>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/bundle/layout.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kShards = 2;
constexpr int kDimension = 3;
const char kHash[] = "0123456789abcdef";

// A unit of five images, and the file of the rows of these and of a carried caption.
struct Fixture {
  Fixture() {
    UnitResult result;
    for (const char* id : {"e", "b", "d", "a", "c"}) {
      UnitRow row;
      row.item_id = id;
      row.embedding = {static_cast<float>(id[0]), 2, 3};
      FeatureTensor tensor;
      tensor.name = "rows";
      tensor.dtype = Dtype::kInt8;
      tensor.rows = 1;
      tensor.columns = 5;
      tensor.bytes = std::string(5, id[0]);
      row.features = {{{tensor}}};
      result.images.push_back(row);
    }
    REQUIRE(WriteUnitFile(dir.File("unit"), kHash, kDimension, result).ok());
    unit = *UnitFile::Open(dir.File("unit"), kHash, kDimension, /*verify=*/true);
    UnitFile::Reader reader(*unit);
    RowFileWriter writer(kShards, kDimension);
    for (const UnitFile::Row& of_unit : unit->images()) {
      ItemRow row = RowOf(of_unit.item_id);
      row.unit = unit.get();
      row.row = &of_unit;
      row.embedding_checksum = CrcOf(*reader.Embedding(of_unit));
      row.tensor_checksums = {Crc32c(*reader.Bytes(of_unit.tensors.at(0)))};
      writer.Add(ItemIndex::kImages, std::move(row));
    }
    ItemRow carried = RowOf("a#en-1");
    carried.base = {7, 70};
    writer.Add(ItemIndex::kCaptions, std::move(carried));
    writer.judgement().bad_images = {{"x", "/x", "no picture"}};
    writer.judgement().bad_captions = {{"b#en-1", "", "without a token"}};
    writer.judgement().dropped_caption_count = 4;
    REQUIRE(writer.WriteTo(path).ok());
  }

  static uint32_t CrcOf(absl::Span<const float> numbers) {
    return Crc32c(absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                                    numbers.size() * sizeof(float)));
  }

  static ItemRow RowOf(const std::string& id) {
    ItemRow row;
    row.record = {id, "caption of " + id, "/" + id, {"one", "two"}};
    row.content_hash = std::string(static_cast<size_t>(kContentHashBytes), id[0]);
    return row;
  }

  absl::StatusOr<std::unique_ptr<RowFile>> Open(bool verify = true, int shards = kShards,
                                                int dimension = kDimension) const {
    return RowFile::Open(path, shards, dimension, verify);
  }

  // All that can be read of it.
  absl::Status ReadAll() const {
    const auto file = Open();
    if (!file.ok()) return file.status();
    const absl::Status judged = (*file)->Judgement().status();
    return judged.ok() ? ReadRows(**file) : judged;
  }

  static absl::Status ReadRows(const RowFile& file) {
    absl::Status status;
    for (const ItemIndex index : kItemIndexes) {
      for (int shard = 0; shard < kShards; ++shard) {
        RowFile::Cursor cursor(file, index, shard);
        for (StoredRow row; status.ok();) {
          const auto more = cursor.Next(&row);
          status = more.status();
          if (!status.ok() || !*more) break;
          if (row.embedding < 0) continue;
          ItemFeatures features;
          std::vector<float> embedding(kDimension);
          status = file.Features(row, 0, &features);
          if (status.ok()) status = file.Embedding(row, absl::MakeSpan(embedding));
        }
      }
    }
    return status;
  }

  const TempDir dir;
  const std::string path = dir.File("folder/rows");
  std::unique_ptr<UnitFile> unit;
};

TEST_CASE_METHOD(Fixture, "each shard's rows come in the order of ids, with all that they had") {
  const auto file = Open();
  REQUIRE(file.ok());
  REQUIRE((*file)->size(ItemIndex::kImages) == 5);
  REQUIRE((*file)->size(ItemIndex::kCaptions) == 1);
  int64_t seen = 0;
  for (int shard = 0; shard < kShards; ++shard) {
    RowFile::Cursor cursor(**file, ItemIndex::kImages, shard);
    std::string last;
    for (StoredRow row;; ++seen) {
      const auto more = cursor.Next(&row);
      REQUIRE(more.ok());
      if (!*more) break;
      const std::string id(row.item_id);
      REQUIRE(id > last);
      last = id;
      REQUIRE(ShardOf(id, kShards) == shard);
      REQUIRE(row.caption == "caption of " + id);
      REQUIRE(row.uri == "/" + id);
      REQUIRE(TagsOf(row) == std::vector<std::string>{"one", "two"});
      REQUIRE(row.content_hash == std::string(32, id[0]));
      std::vector<float> embedding(kDimension);
      REQUIRE((*file)->Embedding(row, absl::MakeSpan(embedding)).ok());
      REQUIRE(embedding == std::vector<float>{static_cast<float>(id[0]), 2, 3});
      ItemFeatures features;
      REQUIRE((*file)->Features(row, 0, &features).ok());
      REQUIRE(features.tensors.at(0).bytes == std::string(5, id[0]));
      REQUIRE((*file)->Features(row, 1, &features).ok());
      REQUIRE(features.tensors.empty());
    }
  }
  REQUIRE(seen == 5);
  StoredRow carried;
  RowFile::Cursor cursor(**file, ItemIndex::kCaptions, ShardOf("a#en-1", kShards));
  REQUIRE(*cursor.Next(&carried));
  REQUIRE(carried.embedding == -1);
  REQUIRE(carried.base.shard == 7);
  REQUIRE(carried.base.row == 70);
}

TEST_CASE_METHOD(Fixture, "the judgement comes back") {
  const auto judgement = (*Open())->Judgement();
  REQUIRE(judgement.ok());
  REQUIRE(judgement->bad_images.at(0).reason == "no picture");
  REQUIRE(judgement->bad_captions.at(0).item_id == "b#en-1");
  REQUIRE(judgement->dropped_caption_count == 4);
}

TEST_CASE_METHOD(Fixture, "a file of other shards or another dimension, or none, is refused") {
  REQUIRE(absl::IsDataLoss(Open(true, kShards + 1).status()));
  REQUIRE(absl::IsDataLoss(Open(true, kShards, kDimension + 1).status()));
  REQUIRE(absl::IsNotFound(RowFile::Open(dir.File("none"), kShards, kDimension, true).status()));
  REQUIRE(absl::IsDataLoss(RowFile::Open(dir.File("unit"), kShards, kDimension, true).status()));
}

TEST_CASE_METHOD(Fixture, "damage anywhere is found, and so is a missing end") {
  const std::string whole = *ReadFile(path);
  REQUIRE(ReadAll().ok());
  for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 199) {
    CAPTURE(i);
    std::string bent = whole;
    bent[i] = static_cast<char>(bent[i] ^ 0x40);
    Overwrite(path, bent);
    REQUIRE(absl::IsDataLoss(ReadAll()));
    Overwrite(path, whole.substr(0, i));
    REQUIRE(absl::IsDataLoss(ReadAll()));
  }
}

// A file with good checksums: one row of two images' shard 0, as `segment` and `record` say.
void WriteLying(const std::string& path, const std::string& judgement,
                const std::vector<int64_t>& segment, const std::string& record) {
  auto writer = ContainerWriter::Create(path);
  REQUIRE(writer.ok());
  std::string segments;
  for (const int64_t number : segment) AppendLittleEndian(number, &segments);
  segments.resize(static_cast<size_t>(2 * kShards * 3) * sizeof(int64_t));
  const auto size = [](const std::string& bytes) { return static_cast<int64_t>(bytes.size()); };
  REQUIRE((*writer)->Declare("judgement", Dtype::kBytes, {size(judgement)}).ok());
  REQUIRE((*writer)->Declare("segments", Dtype::kInt64, {2 * kShards, 3}).ok());
  REQUIRE((*writer)->Declare("records", Dtype::kBytes, {size(record)}).ok());
  REQUIRE((*writer)->Declare("embeddings", Dtype::kFloat32, {1, kDimension}).ok());
  REQUIRE((*writer)->Declare("tensors", Dtype::kBytes, {4}).ok());
  for (const std::string& bytes :
       {judgement, segments, record, std::string(4 * kDimension, 'e'), std::string("data")}) {
    REQUIRE((*writer)->Append(bytes).ok());
  }
  REQUIRE((*writer)->Finish().ok());
}

// With what a record has before it.
std::string WithHead(const std::string& record) {
  std::string bytes;
  AppendLittleEndian(static_cast<uint32_t>(record.size()), &bytes);
  AppendLittleEndian(Crc32c(record), &bytes);
  return bytes + record;
}

// A row with one tensor, as the file has it.
std::string Record(int64_t embedding, int64_t columns, int64_t tensors_begin) {
  std::string record;
  for (const char* text : {"id", "caption", "uri", ""}) AppendText(text, &record);
  record += std::string(static_cast<size_t>(kContentHashBytes), 'h');
  AppendLittleEndian(embedding, &record);
  AppendLittleEndian(Crc32c(std::string(4 * kDimension, 'e')), &record);
  std::string tensor;
  AppendLittleEndian(uint8_t{0}, &tensor);
  AppendText("t", &tensor);
  AppendLittleEndian(static_cast<uint32_t>(Dtype::kInt8), &tensor);
  AppendLittleEndian(int64_t{1}, &tensor);
  AppendLittleEndian(columns, &tensor);
  AppendLittleEndian(Crc32c("data"), &tensor);
  AppendText(tensor, &record);
  AppendLittleEndian(tensors_begin, &record);
  return WithHead(record);
}

TEST_CASE_METHOD(Fixture, "a file that lies, with good checksums, is refused") {
  std::string judgement;
  {
    RowFileWriter empty(kShards, kDimension);
    REQUIRE(empty.WriteTo(dir.File("empty")).ok());
    const auto container = Container::Open(dir.File("empty"));
    const Section* const section = (*container)->Find("judgement");
    judgement = std::string((*container)->Load(*section, CallContext::Unbounded())->view());
  }
  const std::string honest = Record(0, 4, 0);
  const auto length = static_cast<int64_t>(honest.size());
  const auto read = [&](const std::vector<int64_t>& segment, const std::string& record) {
    WriteLying(path, judgement, segment, record);
    return ReadAll();
  };
  const int64_t large = int64_t{1} << 62;
  REQUIRE(read({1, 0, length}, honest).ok());
  // More rows than records; records that run backwards, or beyond the end.
  for (const std::vector<int64_t>& segment : std::vector<std::vector<int64_t>>{
           {2, 0, length}, {-1, 0, length}, {1, 5, 4}, {1, -1, length}, {1, 0, length + 1}}) {
    CAPTURE(segment[0], segment[1], segment[2]);
    REQUIRE(absl::IsDataLoss(read(segment, honest)));
  }
  // An embedding that is not there; tensors beyond the data, or so large that they overflow.
  for (const std::string& record : {Record(1, 4, 0), Record(0, 5, 0), Record(0, 4, 1),
                                    Record(0, 4, -1), Record(0, large, 0), Record(0, -1, 0)}) {
    REQUIRE(absl::IsDataLoss(read({1, 0, length}, record)));
  }
  for (int64_t end = 0; end < length; ++end) {
    REQUIRE(absl::IsDataLoss(read({1, 0, end}, honest)));
  }
  // A record that is longer than its row, one without a row, and one of a length beyond all.
  const std::string row = honest.substr(8);
  for (const std::string& record :
       {WithHead(row + "x"), WithHead(""), std::string(8, '\xff') + row}) {
    REQUIRE(absl::IsDataLoss(read({1, 0, static_cast<int64_t>(record.size())}, record)));
  }
  judgement += "x";
  REQUIRE(absl::IsDataLoss(read({1, 0, length}, honest)));
}

// Reads everything of a file that was opened before, and of which nothing is verified.
TEST_CASE_METHOD(Fixture, "what changes in a file that is open is damage, wherever it is read") {
  const auto container = *Container::Open(path);
  for (const char* name : {"records", "embeddings", "tensors"}) {
    CAPTURE(name);
    const auto file = *Open();
    const int64_t at = container->Find(name)->offset + 20;
    CorruptInPlace(path, at);
    absl::Status status = ReadRows(*file);
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
    CorruptInPlace(path, at);
    REQUIRE(ReadRows(*file).ok());
  }
}

TEST_CASE_METHOD(Fixture, "a file that cannot be read is an error that names it, at each read") {
  int failed = 0;
  for (bool done = false; !done; ++failed) {
    const FailingReads failing({path, EIO, failed});
    const absl::Status status = ReadAll();
    CAPTURE(failed, status);
    done = status.ok();
    if (done) continue;
    REQUIRE(IsFailedRead(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  }
  REQUIRE(failed > 10);
}

}  // namespace
}  // namespace sightline
