#include "services/corpus_encoder/unit_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/item_codec.h"
#include "services/corpus_encoder/summed_value.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

enum RowState : uint8_t { kGood = 0, kRejected = 1, kMayPass = 2 };

void Describe(const UnitRow& row, const ItemCodec& codec, std::string* bytes) {
  AppendText(row.item_id, bytes);
  if (!row.rejected.empty()) {
    AppendLittleEndian(static_cast<uint8_t>(row.may_pass ? kMayPass : kRejected), bytes);
    AppendText(row.rejected, bytes);
    return;
  }
  AppendLittleEndian(static_cast<uint8_t>(kGood), bytes);
  uint32_t count = 0;
  for (const ItemFeatures& features : row.features) {
    count += static_cast<uint32_t>(features.tensors.size());
  }
  AppendLittleEndian(count, bytes);
  for (size_t reranker = 0; reranker < row.features.size(); ++reranker) {
    for (const FeatureTensor& tensor : row.features[reranker].tensors) {
      AppendLittleEndian(static_cast<uint8_t>(reranker), bytes);
      codec.Append(tensor, bytes);
    }
  }
}

template <typename Visit>
void ForEachRow(const UnitResult& result, const Visit& visit) {
  for (const std::vector<UnitRow>* rows : {&result.images, &result.captions}) {
    for (const UnitRow& row : *rows) visit(row);
  }
}

template <typename Visit>
void ForEachTensor(const UnitResult& result, const Visit& visit) {
  ForEachRow(result, [&](const UnitRow& row) {
    for (const ItemFeatures& features : row.features) {
      for (const FeatureTensor& tensor : features.tensors) visit(tensor);
    }
  });
}

}  // namespace

// Nothing in the file is believed: each number is checked against what is there.
class UnitFileParser {
 public:
  explicit UnitFileParser(UnitFile& file) : file_(file), rows_("") {}

  absl::Status Parse(absl::string_view hash, int dimension) {
    const Container& container = *file_.container_;
    ASSIGN_OR_RETURN(const Section* rows, container.Require("rows", Dtype::kBytes, 1));
    ASSIGN_OR_RETURN(file_.embeddings_, container.Require("embeddings", Dtype::kFloat32, 2));
    ASSIGN_OR_RETURN(file_.tensors_, container.Require("tensors", Dtype::kBytes, 1));
    ASSIGN_OR_RETURN(const SectionBytes table, container.Load(*rows, CallContext::Unbounded()));
    rows_ = ByteReader(table.view());
    const absl::string_view found_hash = rows_.Text();
    const auto found_dimension = rows_.Number<int64_t>();
    if (!rows_.ok()) return absl::DataLossError("the table of rows is cut short");
    if (found_hash != hash) {
      return absl::DataLossError(absl::StrCat("it holds another unit: ", found_hash));
    }
    if (found_dimension != dimension || file_.embeddings_->shape[1] != dimension) {
      return absl::DataLossError(
          absl::StrCat("its dimension is ", found_dimension, ", not ", dimension));
    }
    RETURN_IF_ERROR(ParseRows(file_.images_));
    RETURN_IF_ERROR(ParseRows(file_.captions_));
    if (rows_.left() > 0 || next_row_ != file_.embeddings_->shape[0] ||
        next_byte_ != file_.tensors_->length) {
      return absl::DataLossError("more data than rows");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ParseRows(std::vector<UnitFile::Row>& rows) {
    const auto count = rows_.Number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      UnitFile::Row row;
      row.item_id = std::string(rows_.Text());
      const auto state = rows_.Number<uint8_t>();
      if (!rows_.ok() || state > kMayPass) return absl::DataLossError("a row is malformed");
      if (state != kGood) {
        row.rejected = std::string(rows_.Text());
        file_.may_pass_ = file_.may_pass_ || state == kMayPass;
        if (row.rejected.empty()) return absl::DataLossError("a row is rejected for no reason");
      } else {
        if (next_row_ >= file_.embeddings_->shape[0]) {
          return absl::DataLossError("an embedding is missing");
        }
        row.embedding = next_row_++;
        RETURN_IF_ERROR(ParseTensors(row));
      }
      rows.push_back(std::move(row));
    }
    return rows_.ok() ? absl::OkStatus() : absl::DataLossError("rows are missing");
  }

  absl::Status ParseTensors(UnitFile::Row& row) {
    const auto count = rows_.Number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      UnitFile::Tensor tensor;
      FeatureTensor& described = tensor.described;
      tensor.reranker = rows_.Number<uint8_t>();
      const bool read = codec_.Read(rows_, &described);
      const auto element = static_cast<int64_t>(DtypeSize(described.dtype));
      const auto left = file_.tensors_->length - next_byte_;
      if (!read || tensor.reranker >= limits::kMaxRerankers || element == 0 || described.rows < 0 ||
          described.columns < 0 ||
          (described.columns > 0 && described.rows > left / described.columns / element)) {
        return absl::DataLossError(absl::StrCat("tensor ", described.name, " does not fit"));
      }
      tensor.begin = next_byte_;
      tensor.length = described.rows * described.columns * element;
      next_byte_ += tensor.length;
      row.tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  UnitFile& file_;
  const ItemCodec codec_;
  ByteReader rows_;
  int64_t next_row_ = 0;   // of the embeddings
  int64_t next_byte_ = 0;  // of the tensors
};

absl::StatusOr<int64_t> WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
                                      const UnitResult& result) {
  const ItemCodec codec;
  std::string rows;
  AppendText(hash, &rows);
  AppendLittleEndian(static_cast<int64_t>(dimension), &rows);
  for (const std::vector<UnitRow>* list : {&result.images, &result.captions}) {
    AppendLittleEndian(static_cast<uint32_t>(list->size()), &rows);
    for (const UnitRow& row : *list) Describe(row, codec, &rows);
  }
  int64_t good = 0, tensor_bytes = 0;
  ForEachRow(result, [&](const UnitRow& row) { good += row.rejected.empty() ? 1 : 0; });
  ForEachTensor(result, [&](const FeatureTensor& tensor) {
    tensor_bytes += static_cast<int64_t>(tensor.bytes.size());
  });
  RETURN_IF_ERROR(MakeFolderOf(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("rows", Dtype::kBytes, {static_cast<int64_t>(rows.size())}));
  RETURN_IF_ERROR(writer->Declare("embeddings", Dtype::kFloat32, {good, dimension}));
  RETURN_IF_ERROR(writer->Declare("tensors", Dtype::kBytes, {tensor_bytes}));
  absl::Status status = writer->Append(rows);
  ForEachRow(result, [&](const UnitRow& row) {
    if (status.ok()) status = writer->Append(BytesOfNumbers(row.embedding));
  });
  ForEachTensor(result, [&](const FeatureTensor& tensor) {
    if (status.ok()) status = writer->Append(tensor.bytes);
  });
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(const ContainerWriter::Summary summary, writer->Finish());
  return summary.byte_count;
}

absl::StatusOr<std::unique_ptr<UnitFile>> UnitFile::Open(absl::string_view path,
                                                         absl::string_view hash, int dimension,
                                                         bool verify) {
  std::unique_ptr<UnitFile> file(new UnitFile);
  ASSIGN_OR_RETURN(file->container_, Container::Open(path));
  if (verify) RETURN_IF_ERROR(file->container_->Verify());
  const absl::Status parsed = UnitFileParser(*file).Parse(hash, dimension);
  if (absl::IsDataLoss(parsed)) {
    return absl::DataLossError(absl::StrCat(path, ": ", parsed.message()));
  }
  RETURN_IF_ERROR(parsed);
  return file;
}

std::string UnitFile::Fingerprint() const {
  FieldHash hash;
  for (const Section& section : container_->sections()) {
    hash.AddNumber(section.length);
    for (const uint32_t checksum : section.checksums) hash.AddNumber(checksum);
  }
  return hash.Hex();
}

UnitFile::Reader::Reader(const UnitFile& file)
    : file_(&file),
      embeddings_(*file.container_, *file.embeddings_, nullptr),
      tensors_(*file.container_, *file.tensors_, nullptr) {}

absl::StatusOr<absl::Span<const float>> UnitFile::Reader::Embedding(const Row& row) {
  const int64_t row_bytes = file_->embeddings_->row_stride_bytes;
  // Rows are whole floats, and so are MiBs.
  ASSIGN_OR_RETURN(const absl::string_view bytes,
                   embeddings_.View(row.embedding * row_bytes, row_bytes));
  return absl::MakeConstSpan(reinterpret_cast<const float*>(bytes.data()),
                             static_cast<size_t>(file_->embeddings_->shape[1]));
}

absl::StatusOr<absl::string_view> UnitFile::Reader::Bytes(const Tensor& tensor) {
  return tensors_.View(tensor.begin, tensor.length);
}

absl::Status UnitFile::ReadEmbedding(const Row& row, uint32_t checksum,
                                     absl::Span<float> to) const {
  return ReadSummed(*container_, *embeddings_, row.embedding * embeddings_->row_stride_bytes,
                    checksum,
                    absl::MakeSpan(reinterpret_cast<char*>(to.data()), to.size() * sizeof(float)));
}

absl::Status UnitFile::ReadTensor(const Tensor& tensor, uint32_t checksum,
                                  std::string* bytes) const {
  bytes->resize(static_cast<size_t>(tensor.length));
  return ReadSummed(*container_, *tensors_, tensor.begin, checksum,
                    absl::MakeSpan(&(*bytes)[0], bytes->size()));
}

}  // namespace sightline
