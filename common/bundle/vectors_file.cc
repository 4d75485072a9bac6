#include "common/bundle/vectors_file.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/item_record.h"
#include "common/bundle/layout.h"
#include "common/bundle/section_reader.h"
#include "common/bundle/stored_record.h"
#include "common/bundle/vector_dtype.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// Rows are whole multiples of 64 bytes, and so are MiBs, so that both are aligned for their type.
bool AllFiniteFloat32(absl::string_view bytes) {
  return AllFinite({reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
}

bool AllFiniteFloat16(absl::string_view bytes) {
  constexpr uint16_t kExponent = 0x7C00;  // all of it set: infinity or NaN
  const auto* const halves = reinterpret_cast<const uint16_t*>(bytes.data());
  const size_t count = bytes.size() / sizeof(uint16_t);
  bool finite = true;
  for (size_t i = 0; i < count; ++i) finite &= (halves[i] & kExponent) != kExponent;
  return finite;
}

// A column, from the first row to the last.
class ColumnReader {
 public:
  ColumnReader(const VectorsFile& file, const VectorsColumn& column,
               const LoadedVectors::Column& loaded)
      : file_(file),
        column_(column),
        offsets_(column.offsets, loaded.offsets),
        bytes_(file.container(), *column.bytes, loaded.bytes) {}

  absl::Status CheckOffsets(const CallContext& call) { return offsets_.CheckAll(call); }

  // Lives until the next call.
  absl::StatusOr<absl::string_view> Field(int64_t row) {
    ASSIGN_OR_RETURN(const OffsetsSection::Range range, offsets_.At(row));
    RETURN_IF_ERROR(file_.CheckField(row, range));
    return bytes_.View(range.begin, range.length());
  }

  // Sections that are compared where they are read.
  void AddTo(std::vector<const Section*>* read) const {
    read->push_back(column_.bytes);
    read->push_back(&column_.offsets.section());
  }

 private:
  const VectorsFile& file_;
  const VectorsColumn& column_;
  OffsetReader offsets_;
  SectionReader bytes_;
};

class Verification {
 public:
  Verification(const VectorsFile& file, const LoadedVectors& loaded)
      : file_(file),
        ids_(file, file.item_ids(), loaded.item_ids),
        captions_(file, file.captions(), loaded.captions),
        uris_(file, file.uris(), loaded.uris),
        tags_(file, file.tags(), loaded.tags),
        embeddings_(file.container(), file.embeddings(), loaded.embeddings),
        embeddings_checked_(loaded.embeddings_checked) {}

  absl::Status Run(int shard, int shard_count, const CallContext& call) {
    std::vector<const Section*> read = {&file_.embeddings()};
    for (ColumnReader* column : {&ids_, &captions_, &uris_, &tags_}) {
      RETURN_IF_ERROR(column->CheckOffsets(call));
      column->AddTo(&read);
    }
    for (int64_t row = 0; row < file_.size(); ++row) {
      if (row % 1024 == 0) RETURN_IF_ERROR(call.Check("verify items"));
      RETURN_IF_ERROR(CheckItem(row, shard, shard_count));
      if (!embeddings_checked_) RETURN_IF_ERROR(CheckEmbedding(row));
    }
    return file_.container().Verify(call, read);
  }

 private:
  absl::Status Wrong(int64_t row, absl::string_view why) const {
    return absl::DataLossError(absl::StrCat(file_.container().path(), ": item ", row, why));
  }

  absl::Status CheckItem(int64_t row, int shard, int shard_count) {
    ASSIGN_OR_RETURN(const absl::string_view id, ids_.Field(row));
    ASSIGN_OR_RETURN(const absl::string_view caption, captions_.Field(row));
    ASSIGN_OR_RETURN(const absl::string_view uri, uris_.Field(row));
    ASSIGN_OR_RETURN(const absl::string_view tags, tags_.Field(row));
    const absl::Status decoded = DecodeRecord(id, caption, uri, tags).status();
    if (!decoded.ok()) return Wrong(row, absl::StrCat(": ", decoded.message()));
    if (row > 0 && id <= previous_id_) return Wrong(row, " is not in item-id order");
    const int home = ShardOf(id, shard_count);
    if (home != shard) {
      return Wrong(row, absl::StrCat(" belongs to shard ", home, ", not ", shard));
    }
    previous_id_.assign(id.data(), id.size());
    return absl::OkStatus();
  }

  absl::Status CheckEmbedding(int64_t row) {
    const int64_t row_bytes = file_.embeddings().row_stride_bytes;
    ASSIGN_OR_RETURN(const absl::string_view bytes, embeddings_.View(row * row_bytes, row_bytes));
    return file_.CheckEmbedding(row, bytes);
  }

  const VectorsFile& file_;
  ColumnReader ids_, captions_, uris_, tags_;
  SectionReader embeddings_;
  const bool embeddings_checked_;
  std::string previous_id_;
};

}  // namespace

VectorsFile::VectorsFile(std::unique_ptr<Container> container) : container_(std::move(container)) {}

absl::StatusOr<std::unique_ptr<VectorsFile>> VectorsFile::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard, int dimension) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Open(path));
  if (container->file_length() != shard.vectors().byte_count()) {
    return absl::DataLossError(absl::StrCat(path, " has ", container->file_length(),
                                            " bytes, its manifest says ",
                                            shard.vectors().byte_count()));
  }
  std::unique_ptr<VectorsFile> file(new VectorsFile(std::move(container)));
  RETURN_IF_ERROR(file->FindEmbeddings(shard, dimension));
  RETURN_IF_ERROR(file->FindColumn("item_id", &file->item_ids_));
  RETURN_IF_ERROR(file->FindColumn("caption", &file->captions_));
  RETURN_IF_ERROR(file->FindColumn("uri", &file->uris_));
  RETURN_IF_ERROR(file->FindColumn("tags", &file->tags_));
  RETURN_IF_ERROR(file->FindContentHashes());
  return file;
}

absl::Status VectorsFile::FindEmbeddings(const bundle::v1::ShardManifest& shard, int dimension) {
  const Section* const found = container_->Find("embeddings");
  const Dtype dtype =
      found != nullptr && IsVectorDtype(found->dtype) ? found->dtype : kDefaultVectorDtype;
  ASSIGN_OR_RETURN(embeddings_, container_->Require("embeddings", dtype, 2));
  const std::vector<int64_t>& shape = embeddings_->shape;
  if (shape[0] != shard.item_count() || shape[1] != dimension) {
    return absl::DataLossError(absl::StrCat(container_->path(), " holds ", shape[0],
                                            " embeddings of ", shape[1], ", its manifest says ",
                                            shard.item_count(), " of ", dimension));
  }
  if (embeddings_->row_stride_bytes % 64 == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(container_->path(), ": embeddings are not padded to 64 bytes"));
}

absl::Status VectorsFile::FindColumn(absl::string_view name, VectorsColumn* column) const {
  ASSIGN_OR_RETURN(column->bytes, container_->Require(name, Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(column->offsets,
                   OffsetsSection::Find(*container_, absl::StrCat(name, "/offsets"), size(),
                                        column->bytes->length));
  return absl::OkStatus();
}

absl::Status VectorsFile::FindContentHashes() {
  if (container_->Find("content_hash") == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Section* hashes, container_->Require("content_hash", Dtype::kBytes, 2));
  if (hashes->shape[0] != size() || hashes->shape[1] != kContentHashBytes ||
      hashes->row_stride_bytes != kContentHashBytes) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": section content_hash is ",
                                            hashes->shape[0], " x ", hashes->shape[1], ", not ",
                                            size(), " x ", kContentHashBytes));
  }
  content_hashes_ = hashes;
  return absl::OkStatus();
}

absl::Status VectorsFile::CheckField(int64_t row, OffsetsSection::Range range) const {
  if (range.length() <= limits::kMaxRecordFieldBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(container_->path(), ": a field of item ", row, " has ",
                                          range.length(), " bytes; at most ",
                                          limits::kMaxRecordFieldBytes, " are read"));
}

absl::Status VectorsFile::CheckEmbedding(int64_t row, absl::string_view bytes) const {
  const absl::string_view numbers = bytes.substr(0, static_cast<size_t>(row_bytes()));
  const bool finite =
      dtype() == Dtype::kFloat16 ? AllFiniteFloat16(numbers) : AllFiniteFloat32(numbers);
  const auto wrong = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": item ", row, why));
  };
  if (!finite) return wrong(" has an embedding that is not finite");
  if (bytes.find_first_not_of('\0', numbers.size()) == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return wrong(" has an embedding whose padding is not zero");
}

absl::Status VerifyVectors(const VectorsFile& file, const LoadedVectors& loaded, int shard,
                           int shard_count, const CallContext& call) {
  return Verification(file, loaded).Run(shard, shard_count, call);
}

}  // namespace sightline
