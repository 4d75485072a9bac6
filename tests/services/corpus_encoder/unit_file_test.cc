#include "services/corpus_encoder/unit_file.h"

#include <cerrno>
#include <fstream>

#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 3;
const char kHash[] = "0123456789abcdef";

UnitRow Row(const std::string& id, float first, int64_t tensor_rows) {
  UnitRow row;
  row.item_id = id;
  row.embedding = {first, 2, 3};
  FeatureTensor tensor;
  tensor.name = "rows";
  tensor.dtype = Dtype::kFloat16;
  tensor.rows = tensor_rows;
  tensor.columns = 2;
  tensor.bytes = std::string(static_cast<size_t>(tensor_rows) * 4, static_cast<char>(first));
  FeatureTensor second = tensor;
  second.name = "of_the_second";
  second.bytes.assign(second.bytes.size(), 's');
  row.features = {{{tensor}}, {{second}}};
  return row;
}

UnitRow Rejected(const std::string& id) {
  UnitRow row;
  row.item_id = id;
  row.rejected = "truncated at \"byte\" 7";
  return row;
}

UnitResult Sample() {
  return {{Row("a", 1, 2), Rejected("b"), Row("c", 5, 0)}, {Row("a#en-1", 9, 4)}};
}

// All that a unit file holds.
absl::StatusOr<UnitResult> ReadUnitFile(const std::string& path, const char* hash, int dimension,
                                        bool verify) {
  const auto file = UnitFile::Open(path, hash, dimension, verify);
  if (!file.ok()) return file.status();
  UnitResult result;
  UnitFile::Reader reader(**file);
  const auto copy = [&](const std::vector<UnitFile::Row>& rows,
                        std::vector<UnitRow>& copies) -> absl::Status {
    for (const UnitFile::Row& row : rows) {
      copies.push_back({row.item_id, row.rejected, {}, {}});
      if (!row.rejected.empty()) continue;
      const auto embedding = reader.Embedding(row);
      if (!embedding.ok()) return embedding.status();
      copies.back().embedding.assign(embedding->begin(), embedding->end());
      copies.back().features.resize(2);
      for (const UnitFile::Tensor& tensor : row.tensors) {
        const auto bytes = reader.Bytes(tensor);
        if (!bytes.ok()) return bytes.status();
        auto& tensors = copies.back().features.at(static_cast<size_t>(tensor.reranker)).tensors;
        tensors.push_back(tensor.described);
        tensors.back().bytes = std::string(*bytes);
      }
    }
    return absl::OkStatus();
  };
  absl::Status status = copy((*file)->images(), result.images);
  if (status.ok()) status = copy((*file)->captions(), result.captions);
  if (!status.ok()) return status;
  return result;
}

TEST_CASE("a unit knows whether an item was rejected for what may pass") {
  TempDir dir;
  const std::string path = dir.File("folder/u.unit");
  UnitResult result = Sample();
  for (const bool may_pass : {false, true}) {
    result.images[1].may_pass = may_pass;
    REQUIRE(WriteUnitFile(path, kHash, kDimension, result).ok());
    REQUIRE((*UnitFile::Open(path, kHash, kDimension, true))->may_pass() == may_pass);
  }
}

// Without the syncing that a real write pays for.
void Overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

TEST_CASE("a unit comes back as it was written") {
  TempDir dir;
  const std::string path = dir.File("folder/u.unit");
  REQUIRE(WriteUnitFile(path, kHash, kDimension, Sample()).ok());
  const auto result = ReadUnitFile(path, kHash, kDimension, /*verify=*/true);
  REQUIRE(result.ok());
  REQUIRE(result->images.size() == 3);
  REQUIRE(result->images[0].embedding == std::vector<float>{1, 2, 3});
  REQUIRE(result->images[1].rejected == "truncated at \"byte\" 7");
  REQUIRE(result->images[1].embedding.empty());
  REQUIRE(result->images[2].features.at(0).tensors[0].rows == 0);
  REQUIRE(result->captions.size() == 1);
  const FeatureTensor& tensor = result->captions[0].features.at(0).tensors.at(0);
  REQUIRE(tensor.name == "rows");
  REQUIRE(tensor.dtype == Dtype::kFloat16);
  REQUIRE(tensor.bytes == std::string(16, 9));
  REQUIRE(result->captions[0].features[0].tensors.size() == 1);
  REQUIRE(result->captions[0].features[1].tensors.size() == 1);
  REQUIRE(result->captions[0].features[1].tensors[0].name == "of_the_second");
  REQUIRE(result->captions[0].features[1].tensors[0].bytes == std::string(16, 's'));
}

TEST_CASE("equal units are equal files, an empty one too") {
  TempDir dir;
  REQUIRE(WriteUnitFile(dir.File("1"), kHash, kDimension, Sample()).ok());
  REQUIRE(WriteUnitFile(dir.File("2"), kHash, kDimension, Sample()).ok());
  REQUIRE(*ReadFile(dir.File("1")) == *ReadFile(dir.File("2")));
  REQUIRE(WriteUnitFile(dir.File("3"), kHash, kDimension, {{Rejected("a")}, {}}).ok());
  REQUIRE(ReadUnitFile(dir.File("3"), kHash, kDimension, true)->images.size() == 1);
}

TEST_CASE("a file of another unit, another dimension or none is refused") {
  TempDir dir;
  const std::string path = dir.File("u");
  REQUIRE(absl::IsNotFound(ReadUnitFile(path, kHash, kDimension, true).status()));
  REQUIRE(WriteUnitFile(path, kHash, kDimension, Sample()).ok());
  REQUIRE(absl::IsDataLoss(ReadUnitFile(path, "other", kDimension, true).status()));
  REQUIRE(absl::IsDataLoss(ReadUnitFile(path, kHash, 4, true).status()));
}

TEST_CASE("damage anywhere is found") {
  TempDir dir;
  const std::string path = dir.File("u");
  REQUIRE(WriteUnitFile(path, kHash, kDimension, Sample()).ok());
  const std::string whole = *ReadFile(path);
  for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 199) {
    CAPTURE(i);
    std::string bent = whole;
    bent[i] = static_cast<char>(bent[i] ^ 0x40);
    Overwrite(path, bent);
    REQUIRE(!ReadUnitFile(path, kHash, kDimension, true).ok());
    Overwrite(path, whole.substr(0, i));
    REQUIRE(!ReadUnitFile(path, kHash, kDimension, true).ok());
  }
}

TEST_CASE("a file that cannot be read is an error that names it, at each of its reads") {
  TempDir dir;
  const std::string path = dir.File("u");
  REQUIRE(WriteUnitFile(path, kHash, kDimension, Sample()).ok());
  for (const bool verify : {false, true}) {
    int failed = 0;
    for (bool done = false; !done; ++failed) {
      const FailingReads failing({path, EIO, failed});
      const absl::Status status = ReadUnitFile(path, kHash, kDimension, verify).status();
      CAPTURE(failed, status);
      done = status.ok();
      if (done) continue;
      REQUIRE(IsFailedRead(status));
      REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
    }
    REQUIRE(failed > 5);
  }
}

TEST_CASE("values are read by their checksums, and what they do not have is damage") {
  TempDir dir;
  const std::string path = dir.File("u");
  REQUIRE(WriteUnitFile(path, kHash, kDimension, Sample()).ok());
  const auto file = *UnitFile::Open(path, kHash, kDimension, false);
  const UnitFile::Row& row = file->images()[0];
  const auto crc = [](const std::vector<float>& numbers) {
    return Crc32c(absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                                    numbers.size() * sizeof(float)));
  };
  std::vector<float> embedding(kDimension);
  std::string bytes;
  REQUIRE(file->ReadEmbedding(row, crc({1, 2, 3}), absl::MakeSpan(embedding)).ok());
  REQUIRE(embedding == std::vector<float>{1, 2, 3});
  REQUIRE(file->ReadTensor(row.tensors[1], Crc32c(std::string(8, 's')), &bytes).ok());
  REQUIRE(bytes == std::string(8, 's'));
  for (const absl::Status& status :
       {file->ReadEmbedding(row, crc({1, 2, 4}), absl::MakeSpan(embedding)),
        file->ReadTensor(row.tensors[1], Crc32c("another"), &bytes)}) {
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  }
}

TEST_CASE("a fingerprint tells results apart") {
  TempDir dir;
  const auto fingerprint = [&](const UnitResult& result) {
    REQUIRE(WriteUnitFile(dir.File("u"), kHash, kDimension, result).ok());
    return (*UnitFile::Open(dir.File("u"), kHash, kDimension, false))->Fingerprint();
  };
  const std::string first = fingerprint(Sample());
  REQUIRE(fingerprint(Sample()) == first);
  UnitResult other = Sample();
  other.images[0].embedding[1] = 7;
  REQUIRE(fingerprint(other) != first);
  other = Sample();
  other.images[1] = Row("b", 1, 1);
  REQUIRE(fingerprint(other) != first);
}

// A table of rows, as the file has it.
class Table {
 public:
  Table() { Text(kHash).Number<int64_t>(kDimension); }
  Table& Text(const std::string& text) {
    AppendText(text, &bytes_);
    return *this;
  }
  template <typename T>
  Table& Number(T number) {
    AppendLittleEndian(number, &bytes_);
    return *this;
  }
  Table& Good(const std::string& id, uint32_t tensors) {
    return Text(id).Number<uint8_t>(0).Number<uint32_t>(tensors);
  }
  Table& Tensor(int64_t rows, int64_t columns, uint32_t dtype = 2, uint8_t reranker = 0) {
    return Number(reranker).Text("t").Number(dtype).Number(rows).Number(columns);
  }
  Table& Count(uint32_t count) { return Number(count); }
  operator std::string() const { return bytes_; }  // NOLINT: tables stand in a list of texts

 private:
  std::string bytes_;
};

TEST_CASE("a table that lies, with good checksums, is refused") {
  TempDir dir;
  const std::string path = dir.File("u");
  const int64_t large = int64_t{1} << 62;
  const std::string honest = Table().Count(1).Good("a", 1).Tensor(1, 1).Count(0);
  const std::vector<std::string> tables = {
      "",
      "nothing like it",
      Table(),
      Table().Count(1),
      Table().Count(0xffffffff),
      Table().Count(1).Text("a").Number<uint8_t>(3).Count(0),
      Table().Count(1).Text("a").Number<uint8_t>(1).Text("").Count(0),
      // One embedding, two rows that want it; and none that does.
      Table().Count(2).Good("a", 0).Good("b", 0).Count(0),
      Table().Count(0).Count(0),
      // Tensors larger than the data, so large that their size overflows, negative, of no dtype,
      // of nobody.
      Table().Count(1).Good("a", 1).Tensor(2, 1).Count(0),
      Table().Count(1).Good("a", 1).Tensor(large, large).Count(0),
      Table().Count(1).Good("a", 1).Tensor(-1, 1).Count(0),
      Table().Count(1).Good("a", 1).Tensor(1, -1).Count(0),
      Table().Count(1).Good("a", 1).Tensor(1, 1, 99).Count(0),
      Table().Count(1).Good("a", 1).Tensor(1, 1, 2, 200).Count(0),
      Table().Count(1).Good("a", 0xffffffff).Tensor(1, 1).Count(0),
      // Data that nobody describes, and more table than rows.
      Table().Count(1).Good("a", 0).Count(0),
      honest + "x",
  };
  const auto read = [&](const std::string& table) {
    auto writer = ContainerWriter::Create(path);
    REQUIRE(writer.ok());
    REQUIRE((*writer)->Declare("rows", Dtype::kBytes, {static_cast<int64_t>(table.size())}).ok());
    REQUIRE((*writer)->Declare("embeddings", Dtype::kFloat32, {1, 3}).ok());
    REQUIRE((*writer)->Declare("tensors", Dtype::kBytes, {4}).ok());
    REQUIRE((*writer)->Append(table).ok());
    REQUIRE((*writer)->Append(std::string(12, 'e')).ok());
    REQUIRE((*writer)->Append("data").ok());
    REQUIRE((*writer)->Finish().ok());
    return ReadUnitFile(path, kHash, kDimension, true).status();
  };
  REQUIRE(read(honest).ok());
  for (const std::string& table : tables) {
    CAPTURE(table);
    REQUIRE(absl::IsDataLoss(read(table)));
  }
  for (size_t length = 0; length < honest.size(); ++length) {
    REQUIRE(absl::IsDataLoss(read(honest.substr(0, length))));
  }
}

}  // namespace
}  // namespace sightline
