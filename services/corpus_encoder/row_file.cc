#include "services/corpus_encoder/row_file.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

constexpr int kSegmentNumbers = 3;  // rows, begin and end of their records

absl::string_view BytesOf(const Section& section) {
  return absl::string_view(section.data, static_cast<size_t>(section.length));
}

void AppendProblems(const std::vector<CorpusProblem>& problems, std::string* bytes) {
  AppendLittleEndian(static_cast<uint32_t>(problems.size()), bytes);
  for (const CorpusProblem& problem : problems) {
    AppendText(problem.item_id, bytes);
    AppendText(problem.path, bytes);
    AppendText(problem.reason, bytes);
  }
}

void ReadProblems(ByteReader& bytes, std::vector<CorpusProblem>* problems) {
  const auto count = bytes.Number<uint32_t>();
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) {
    CorpusProblem problem;
    problem.item_id = std::string(bytes.Text());
    problem.path = std::string(bytes.Text());
    problem.reason = std::string(bytes.Text());
    problems->push_back(std::move(problem));
  }
}

std::string JudgementBytes(const RowJudgement& judgement) {
  std::string bytes;
  AppendProblems(judgement.bad_images, &bytes);
  AppendProblems(judgement.bad_captions, &bytes);
  AppendLittleEndian(judgement.dropped_caption_count, &bytes);
  judgement.images.Append(&bytes);
  judgement.captions.Append(&bytes);
  return bytes;
}

std::string DescribeTensors(const UnitFile::Row& row) {
  std::string bytes;
  for (const UnitFile::Tensor& tensor : row.tensors) {
    AppendLittleEndian(static_cast<uint8_t>(tensor.reranker), &bytes);
    AppendText(tensor.described.name, &bytes);
    AppendLittleEndian(static_cast<uint32_t>(tensor.described.dtype), &bytes);
    AppendLittleEndian(tensor.described.rows, &bytes);
    AppendLittleEndian(tensor.described.columns, &bytes);
  }
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
      const ItemRow& row = entry->row;
      std::string tags;
      for (const std::string& tag : row.record.tags) AppendText(tag, &tags);
      AppendText(row.record.item_id, &records_);
      AppendText(row.record.caption, &records_);
      AppendText(row.record.uri, &records_);
      AppendText(tags, &records_);
      records_ += row.content_hash;
      if (row.unit == nullptr) {
        AppendLittleEndian(int64_t{-1}, &records_);
        AppendLittleEndian(row.base.shard, &records_);
        AppendLittleEndian(row.base.row, &records_);
        continue;
      }
      AppendLittleEndian(embedding_count_++, &records_);
      AppendText(DescribeTensors(*row.row), &records_);
      AppendLittleEndian(tensor_bytes_, &records_);
      for (const UnitFile::Tensor& tensor : row.row->tensors) {
        tensor_bytes_ += static_cast<int64_t>(tensor.length);
      }
    }
    numbers[2] = static_cast<int64_t>(records_.size());
  }
}

absl::Status RowFileWriter::WriteData(ContainerWriter& writer) const {
  for (const Entry& entry : entries_) {
    if (entry.row.unit == nullptr) continue;
    const absl::Span<const float> embedding = entry.row.unit->embedding(*entry.row.row);
    RETURN_IF_ERROR(writer.Append(absl::string_view(reinterpret_cast<const char*>(embedding.data()),
                                                    embedding.size() * sizeof(float))));
  }
  for (const Entry& entry : entries_) {
    if (entry.row.unit == nullptr) continue;
    for (const UnitFile::Tensor& tensor : entry.row.row->tensors) {
      RETURN_IF_ERROR(writer.Append(entry.row.unit->bytes(tensor)));
    }
  }
  return absl::OkStatus();
}

absl::Status RowFileWriter::WriteTo(const std::string& path) {
  BuildRecords();
  const std::string judgement = JudgementBytes(judgement_);
  std::string segments;
  for (const int64_t number : segments_) AppendLittleEndian(number, &segments);
  RETURN_IF_ERROR(MakeFolderOf(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  const auto size = [](const std::string& bytes) { return static_cast<int64_t>(bytes.size()); };
  RETURN_IF_ERROR(writer->Declare("judgement", Dtype::kBytes, {size(judgement)}));
  RETURN_IF_ERROR(writer->Declare("segments", Dtype::kInt64, {2 * shard_count_, kSegmentNumbers}));
  RETURN_IF_ERROR(writer->Declare("records", Dtype::kBytes, {size(records_)}));
  RETURN_IF_ERROR(writer->Declare("embeddings", Dtype::kFloat32, {embedding_count_, dimension_}));
  RETURN_IF_ERROR(writer->Declare("tensors", Dtype::kBytes, {tensor_bytes_}));
  for (const absl::string_view bytes :
       std::initializer_list<absl::string_view>{judgement, segments, records_}) {
    RETURN_IF_ERROR(writer->Append(bytes));
  }
  RETURN_IF_ERROR(WriteData(*writer));
  return writer->Finish().status();
}

absl::StatusOr<std::unique_ptr<RowFile>> RowFile::Open(absl::string_view path, int shard_count,
                                                       int dimension, bool verify) {
  std::unique_ptr<RowFile> file(new RowFile);
  ASSIGN_OR_RETURN(file->container_, Container::Map(path));
  if (verify) RETURN_IF_ERROR(file->container_->Verify());
  RETURN_IF_ERROR(file->Parse(shard_count, dimension));
  return file;
}

absl::Status RowFile::Parse(int shard_count, int dimension) {
  shard_count_ = shard_count;
  ASSIGN_OR_RETURN(judgement_, container_->Require("judgement", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(segments_, container_->Require("segments", Dtype::kInt64, 2));
  ASSIGN_OR_RETURN(const Section* records, container_->Require("records", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(embeddings_, container_->Require("embeddings", Dtype::kFloat32, 2));
  ASSIGN_OR_RETURN(const Section* tensors, container_->Require("tensors", Dtype::kBytes, 1));
  records_ = BytesOf(*records);
  tensors_ = BytesOf(*tensors);
  if (segments_->shape[0] != 2 * shard_count || segments_->shape[1] != kSegmentNumbers ||
      embeddings_->shape[1] != dimension) {
    return Malformed("is of another number of shards or another dimension");
  }
  for (const ItemIndex index : kItemIndexes) {
    for (int shard = 0; shard < shard_count; ++shard) {
      const int64_t* const segment = Segment(index, shard);
      if (segment[0] < 0 || segment[1] < 0 || segment[1] > segment[2] ||
          segment[2] > records->length) {
        return Malformed("has a segment that does not fit");
      }
    }
  }
  return absl::OkStatus();
}

const int64_t* RowFile::Segment(ItemIndex index, int shard) const {
  // Sections lie at multiples of 4 KiB.
  const auto* const numbers = reinterpret_cast<const int64_t*>(segments_->data);
  return numbers + (static_cast<int64_t>(index) * shard_count_ + shard) * kSegmentNumbers;
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
  ByteReader bytes(BytesOf(*judgement_));
  ReadProblems(bytes, &judgement.bad_images);
  ReadProblems(bytes, &judgement.bad_captions);
  judgement.dropped_caption_count = bytes.Number<int64_t>();
  const bool read = judgement.images.Read(bytes) && judgement.captions.Read(bytes);
  if (!read || bytes.left() > 0) return Malformed("has a malformed judgement");
  return judgement;
}

RowFile::Cursor::Cursor(const RowFile& file, ItemIndex index, int shard)
    : file_(&file), records_(""), left_(file.size(index, shard)) {
  const int64_t* const segment = file.Segment(index, shard);
  records_ = ByteReader(file.records_.substr(static_cast<size_t>(segment[1]),
                                             static_cast<size_t>(segment[2] - segment[1])));
}

absl::StatusOr<bool> RowFile::Cursor::Next(StoredRow* row) {
  if (left_ == 0) return false;
  --left_;
  row->item_id = records_.Text();
  row->caption = records_.Text();
  row->uri = records_.Text();
  row->tags = records_.Text();
  row->content_hash = records_.Bytes(static_cast<size_t>(kContentHashBytes));
  row->embedding = records_.Number<int64_t>();
  if (row->embedding < 0) {
    row->base.shard = records_.Number<int32_t>();
    row->base.row = records_.Number<int64_t>();
  } else {
    row->tensors = records_.Text();
    row->tensors_begin = records_.Number<int64_t>();
  }
  if (!records_.ok() || row->embedding >= file_->embeddings_->shape[0]) {
    return file_->Malformed("has a row that does not fit");
  }
  return true;
}

absl::Span<const float> RowFile::embedding(const StoredRow& row) const {
  const char* const begin = embeddings_->data + row.embedding * embeddings_->row_stride_bytes;
  return absl::MakeConstSpan(reinterpret_cast<const float*>(begin),
                             static_cast<size_t>(embeddings_->shape[1]));
}

absl::Status RowFile::Features(const StoredRow& row, int reranker, ItemFeatures* features) const {
  features->tensors.clear();
  const auto malformed = [this] { return Malformed("has tensors that do not fit"); };
  if (row.tensors_begin < 0 || row.tensors_begin > static_cast<int64_t>(tensors_.size())) {
    return malformed();
  }
  ByteReader data(tensors_.substr(static_cast<size_t>(row.tensors_begin)));
  for (ByteReader bytes(row.tensors); bytes.left() > 0;) {
    const int owner = bytes.Number<uint8_t>();
    FeatureTensor tensor;
    tensor.name = std::string(bytes.Text());
    tensor.dtype = static_cast<Dtype>(bytes.Number<uint32_t>());
    tensor.rows = bytes.Number<int64_t>();
    tensor.columns = bytes.Number<int64_t>();
    auto length = static_cast<int64_t>(DtypeSize(tensor.dtype));
    if (!bytes.ok() || tensor.rows < 0 || tensor.columns < 0 ||
        __builtin_mul_overflow(length, tensor.rows, &length) ||
        __builtin_mul_overflow(length, tensor.columns, &length)) {
      return malformed();
    }
    const absl::string_view values = data.Bytes(static_cast<size_t>(length));
    if (!data.ok()) return malformed();
    if (owner != reranker) continue;
    tensor.bytes = std::string(values);
    features->tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

std::vector<std::string> TagsOf(const StoredRow& row) {
  std::vector<std::string> tags;
  for (ByteReader bytes(row.tags); bytes.ok() && bytes.left() > 0;) tags.emplace_back(bytes.Text());
  return tags;
}

}  // namespace sightline
