#include "services/corpus_encoder/row_file.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/byte_reader.h"
#include "common/base/call_context.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "services/corpus_encoder/summed_value.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

constexpr int kSegmentNumbers = 3;  // rows, begin and end of their records

constexpr int64_t kRecordHead = 2 * sizeof(uint32_t);  // length and checksum
constexpr int64_t kReadAhead = int64_t{64} << 10;

std::string DescribeTensors(const ItemRow& row) {
  const ItemCodec codec;
  std::string bytes;
  for (size_t i = 0; i < row.row->tensors.size(); ++i) {
    const UnitFile::Tensor& tensor = row.row->tensors[i];
    AppendLittleEndian(static_cast<uint8_t>(tensor.reranker), &bytes);
    codec.Append(tensor.described, &bytes);
    AppendLittleEndian(row.tensor_checksums[i], &bytes);
  }
  return bytes;
}

// All of a record but where its result lies.
std::string RecordStart(const ItemRow& row) {
  std::string tags, bytes;
  for (const std::string& tag : row.record.tags) AppendText(tag, &tags);
  AppendText(row.record.item_id, &bytes);
  AppendText(row.record.caption, &bytes);
  AppendText(row.record.uri, &bytes);
  AppendText(tags, &bytes);
  bytes += row.content_hash;
  return bytes;
}

}  // namespace

void RowFileWriter::Add(ItemIndex index, ItemRow row) {
  const int shard = ShardOf(row.record.item_id, shard_count_);
  entries_.push_back({static_cast<int>(index) * shard_count_ + shard, std::move(row)});
}

void RowFileWriter::BuildRecords() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.segment != b.segment ? a.segment < b.segment
                                  : a.row.record.item_id < b.row.record.item_id;
  });
  records_.clear();
  segments_.assign(static_cast<size_t>(2 * shard_count_) * kSegmentNumbers, 0);
  embedding_count_ = tensor_bytes_ = 0;
  auto entry = entries_.begin();
  for (int segment = 0; segment < 2 * shard_count_; ++segment) {
    int64_t* const numbers = &segments_[static_cast<size_t>(segment) * kSegmentNumbers];
    numbers[1] = static_cast<int64_t>(records_.size());
    for (; entry != entries_.end() && entry->segment == segment; ++entry, ++numbers[0]) {
      const std::string record = RecordOf(entry->row);
      AppendLittleEndian(static_cast<uint32_t>(record.size()), &records_);
      AppendLittleEndian(Crc32c(record), &records_);
      records_ += record;
    }
    numbers[2] = static_cast<int64_t>(records_.size());
  }
}

// Counts what the row takes of embeddings and tensors.
std::string RowFileWriter::RecordOf(const ItemRow& row) {
  std::string record = RecordStart(row);
  if (row.unit == nullptr) {
    AppendLittleEndian(int64_t{-1}, &record);
    AppendLittleEndian(row.base.shard, &record);
    AppendLittleEndian(row.base.row, &record);
    return record;
  }
  AppendLittleEndian(embedding_count_++, &record);
  AppendLittleEndian(row.embedding_checksum, &record);
  AppendText(DescribeTensors(row), &record);
  AppendLittleEndian(tensor_bytes_, &record);
  for (const UnitFile::Tensor& tensor : row.row->tensors) tensor_bytes_ += tensor.length;
  return record;
}

absl::Status RowFileWriter::WriteData(ContainerWriter& writer) const {
  std::vector<float> embedding(static_cast<size_t>(dimension_));
  for (const Entry& entry : entries_) {
    const ItemRow& row = entry.row;
    if (row.unit == nullptr) continue;
    RETURN_IF_ERROR(
        row.unit->ReadEmbedding(*row.row, row.embedding_checksum, absl::MakeSpan(embedding)));
    RETURN_IF_ERROR(writer.Append(BytesOfNumbers(embedding)));
  }
  std::string bytes;
  for (const Entry& entry : entries_) {
    const ItemRow& row = entry.row;
    if (row.unit == nullptr) continue;
    for (size_t i = 0; i < row.row->tensors.size(); ++i) {
      RETURN_IF_ERROR(row.unit->ReadTensor(row.row->tensors[i], row.tensor_checksums[i], &bytes));
      RETURN_IF_ERROR(writer.Append(bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status RowFileWriter::WriteTo(const std::string& path) {
  BuildRecords();
  std::string judgement;
  ItemCodec().Append(judgement_, &judgement);
  RETURN_IF_ERROR(MakeFolderOf(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  const auto size = [](const std::string& bytes) { return static_cast<int64_t>(bytes.size()); };
  RETURN_IF_ERROR(writer->Declare("judgement", Dtype::kBytes, {size(judgement)}));
  RETURN_IF_ERROR(writer->Declare("segments", Dtype::kInt64, {2 * shard_count_, kSegmentNumbers}));
  RETURN_IF_ERROR(writer->Declare("records", Dtype::kBytes, {size(records_)}));
  RETURN_IF_ERROR(writer->Declare("embeddings", Dtype::kFloat32, {embedding_count_, dimension_}));
  RETURN_IF_ERROR(writer->Declare("tensors", Dtype::kBytes, {tensor_bytes_}));
  for (const absl::string_view bytes :
       std::initializer_list<absl::string_view>{judgement, BytesOfNumbers(segments_), records_}) {
    RETURN_IF_ERROR(writer->Append(bytes));
  }
  RETURN_IF_ERROR(WriteData(*writer));
  return writer->Finish().status();
}

absl::StatusOr<std::unique_ptr<RowFile>> RowFile::Open(absl::string_view path, int shard_count,
                                                       int dimension, bool verify) {
  std::unique_ptr<RowFile> file(new RowFile);
  ASSIGN_OR_RETURN(file->container_, Container::Open(path));
  if (verify) RETURN_IF_ERROR(file->container_->Verify());
  RETURN_IF_ERROR(file->Parse(shard_count, dimension));
  return file;
}

absl::Status RowFile::Parse(int shard_count, int dimension) {
  shard_count_ = shard_count;
  ASSIGN_OR_RETURN(judgement_, container_->Require("judgement", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(const Section* segments, container_->Require("segments", Dtype::kInt64, 2));
  ASSIGN_OR_RETURN(records_, container_->Require("records", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(embeddings_, container_->Require("embeddings", Dtype::kFloat32, 2));
  ASSIGN_OR_RETURN(tensors_, container_->Require("tensors", Dtype::kBytes, 1));
  constexpr auto kRowBytes = static_cast<int64_t>(kSegmentNumbers * sizeof(int64_t));
  if (segments->shape[0] != 2 * shard_count || segments->shape[1] != kSegmentNumbers ||
      segments->row_stride_bytes != kRowBytes || embeddings_->shape[1] != dimension) {
    return Malformed("is of another number of shards or another dimension");
  }
  segments_.resize(static_cast<size_t>(segments->length) / sizeof(int64_t));
  RETURN_IF_ERROR(
      container_->Read(*segments, 0, segments->length, reinterpret_cast<char*>(segments_.data())));
  for (const ItemIndex index : kItemIndexes) {
    for (int shard = 0; shard < shard_count; ++shard) {
      const int64_t* const segment = Segment(index, shard);
      if (segment[0] < 0 || segment[1] < 0 || segment[1] > segment[2] ||
          segment[2] > records_->length) {
        return Malformed("has a segment that does not fit");
      }
    }
  }
  return absl::OkStatus();
}

const int64_t* RowFile::Segment(ItemIndex index, int shard) const {
  return &segments_[static_cast<size_t>(static_cast<int>(index) * shard_count_ + shard) *
                    kSegmentNumbers];
}

int64_t RowFile::size(ItemIndex index) const {
  int64_t rows = 0;
  for (int shard = 0; shard < shard_count_; ++shard) rows += size(index, shard);
  return rows;
}

absl::Status RowFile::Malformed(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(container_->path(), " ", what));
}

absl::StatusOr<RowJudgement> RowFile::Judgement() const {
  RowJudgement judgement;
  ASSIGN_OR_RETURN(const SectionBytes section,
                   container_->Load(*judgement_, CallContext::Unbounded()));
  ByteReader bytes(section.view());
  if (!ItemCodec().Read(bytes, &judgement) || bytes.left() > 0) {
    return Malformed("has a malformed judgement");
  }
  return judgement;
}

RowFile::Cursor::Cursor(const RowFile& file, ItemIndex index, int shard)
    : file_(&file),
      left_(file.size(index, shard)),
      next_(file.Segment(index, shard)[1]),
      end_(file.Segment(index, shard)[2]) {}

// Brings `wanted` bytes behind what is taken into the buffer: DataLoss if there are less.
absl::Status RowFile::Cursor::Fill(int64_t wanted) {
  auto have = static_cast<int64_t>(buffer_.size());
  if (have - taken_ >= wanted) return absl::OkStatus();
  if (wanted > end_ - next_ - taken_) return file_->Malformed("has a row that does not fit");
  buffer_.erase(0, static_cast<size_t>(taken_));
  next_ += taken_;
  have -= taken_;
  taken_ = 0;
  const int64_t more = std::min(std::max(wanted, kReadAhead), end_ - next_) - have;
  buffer_.resize(static_cast<size_t>(have + more));
  return file_->container_->ReadUnchecked(*file_->records_, next_ + have, more,
                                          &buffer_[static_cast<size_t>(have)]);
}

absl::StatusOr<absl::string_view> RowFile::Cursor::NextRecord() {
  RETURN_IF_ERROR(Fill(kRecordHead));
  const auto length = int64_t{LoadLittleEndian<uint32_t>(&buffer_[static_cast<size_t>(taken_)])};
  RETURN_IF_ERROR(Fill(kRecordHead + length));
  const char* const head = &buffer_[static_cast<size_t>(taken_)];
  const auto checksum = LoadLittleEndian<uint32_t>(head + sizeof(uint32_t));
  const absl::Span<char> record(&buffer_[static_cast<size_t>(taken_ + kRecordHead)],
                                static_cast<size_t>(length));
  if (Crc32c(absl::string_view(record.data(), record.size())) != checksum) {
    RETURN_IF_ERROR(ReadSummed(*file_->container_, *file_->records_, next_ + taken_ + kRecordHead,
                               checksum, record));
  }
  taken_ += kRecordHead + length;
  return absl::string_view(record.data(), record.size());
}

absl::StatusOr<bool> RowFile::Cursor::Next(StoredRow* row) {
  if (left_ == 0) return false;
  --left_;
  ASSIGN_OR_RETURN(const absl::string_view record, NextRecord());
  ByteReader bytes(record);
  row->item_id = bytes.Text();
  row->caption = bytes.Text();
  row->uri = bytes.Text();
  row->tags = bytes.Text();
  row->content_hash = bytes.Bytes(static_cast<size_t>(kContentHashBytes));
  row->embedding = bytes.Number<int64_t>();
  if (row->embedding < 0) {
    row->base.shard = bytes.Number<int32_t>();
    row->base.row = bytes.Number<int64_t>();
  } else {
    row->embedding_checksum = bytes.Number<uint32_t>();
    row->tensors = bytes.Text();
    row->tensors_begin = bytes.Number<int64_t>();
  }
  if (!bytes.ok() || bytes.left() > 0 || row->embedding >= file_->embeddings_->shape[0]) {
    return file_->Malformed("has a row that does not fit");
  }
  return true;
}

absl::Status RowFile::Embedding(const StoredRow& row, absl::Span<float> to) const {
  return ReadSummed(*container_, *embeddings_, row.embedding * embeddings_->row_stride_bytes,
                    row.embedding_checksum,
                    absl::MakeSpan(reinterpret_cast<char*>(to.data()), to.size() * sizeof(float)));
}

absl::Status RowFile::Features(const StoredRow& row, int reranker, ItemFeatures* features) const {
  features->tensors.clear();
  const auto malformed = [this] { return Malformed("has tensors that do not fit"); };
  const ItemCodec codec;
  int64_t begin = row.tensors_begin;
  if (begin < 0 || begin > tensors_->length) return malformed();
  for (ByteReader bytes(row.tensors); bytes.left() > 0;) {
    const int owner = bytes.Number<uint8_t>();
    FeatureTensor tensor;
    codec.Read(bytes, &tensor);
    const auto checksum = bytes.Number<uint32_t>();
    auto length = static_cast<int64_t>(DtypeSize(tensor.dtype));
    if (!bytes.ok() || tensor.rows < 0 || tensor.columns < 0 ||
        __builtin_mul_overflow(length, tensor.rows, &length) ||
        __builtin_mul_overflow(length, tensor.columns, &length) ||
        length > tensors_->length - begin) {
      return malformed();
    }
    if (owner == reranker) {
      tensor.bytes.resize(static_cast<size_t>(length));
      RETURN_IF_ERROR(ReadSummed(*container_, *tensors_, begin, checksum,
                                 absl::MakeSpan(&tensor.bytes[0], tensor.bytes.size())));
      features->tensors.push_back(std::move(tensor));
    }
    begin += length;
  }
  return absl::OkStatus();
}

std::vector<std::string> TagsOf(const StoredRow& row) {
  std::vector<std::string> tags;
  for (ByteReader bytes(row.tags); bytes.ok() && bytes.left() > 0;) tags.emplace_back(bytes.Text());
  return tags;
}

}  // namespace sightline
