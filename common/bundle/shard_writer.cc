#include "common/bundle/shard_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/bundle/container.h"
#include "common/bundle/feature_file.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_source.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ShardManifest;

absl::Status BadItem(const ItemRecord& record, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("item '", absl::CHexEscape(record.item_id.substr(0, 100)), "': ", why));
}

std::string EncodeTags(const std::vector<std::string>& tags) {
  std::string bytes;
  for (const std::string& tag : tags) {
    AppendLittleEndian(static_cast<uint32_t>(tag.size()), &bytes);
    bytes += tag;
  }
  return bytes;
}

absl::Status CheckRecord(const ItemRecord& record) {
  const auto id_length = static_cast<int64_t>(record.item_id.size());
  if (id_length < 1 || id_length > limits::kMaxItemIdBytes) {
    return BadItem(record, absl::StrCat("an id has 1 to ", limits::kMaxItemIdBytes, " bytes, not ",
                                        id_length));
  }
  int64_t tag_bytes = 0;
  bool valid =
      IsValidUtf8(record.item_id) && IsValidUtf8(record.caption) && IsValidUtf8(record.uri);
  for (const std::string& tag : record.tags) {
    valid = valid && IsValidUtf8(tag);
    tag_bytes += static_cast<int64_t>(sizeof(uint32_t) + tag.size());
  }
  if (!valid) return BadItem(record, "a text is not UTF-8");
  const auto longest = std::max({static_cast<int64_t>(record.caption.size()),
                                 static_cast<int64_t>(record.uri.size()), tag_bytes});
  if (longest > limits::kMaxRecordFieldBytes) {
    return BadItem(record, absl::StrCat("caption, uri or tags have ", longest, " bytes; at most ",
                                        limits::kMaxRecordFieldBytes, " are kept"));
  }
  return absl::OkStatus();
}

absl::Status CheckEmbedding(const ItemRecord& record, absl::Span<const float> embedding,
                            int dimension) {
  if (embedding.size() != static_cast<size_t>(dimension)) {
    return BadItem(
        record, absl::StrCat("the embedding has ", embedding.size(), " numbers, not ", dimension));
  }
  for (const float number : embedding) {
    if (!std::isfinite(number)) return BadItem(record, "the embedding is not finite");
  }
  return absl::OkStatus();
}

// The bytes of an embedding as they are stored, to `bytes`.
absl::Status EncodeEmbedding(const ItemRecord& record, absl::Span<const float> embedding,
                             Dtype dtype, std::string* bytes) {
  bytes->resize(embedding.size() * DtypeSize(dtype));
  if (NarrowVector(embedding, dtype, &(*bytes)[0])) return absl::OkStatus();
  return BadItem(record, absl::StrCat("the embedding has numbers beyond what ", DtypeName(dtype),
                                      " holds; store float32"));
}

// Whether the bytes of `tensor` are as many as it says; adds them to `total`.
absl::Status CheckTensor(const ItemRecord& record, const FeatureTensor& tensor, int64_t* total) {
  int64_t bytes = static_cast<int64_t>(DtypeSize(tensor.dtype));
  const bool sane = IsFeatureName(tensor.name) && bytes > 0 && tensor.rows >= 0 &&
                    tensor.columns >= 1 && !__builtin_mul_overflow(bytes, tensor.columns, &bytes) &&
                    !__builtin_mul_overflow(bytes, tensor.rows, &bytes) &&
                    bytes == static_cast<int64_t>(tensor.bytes.size());
  if (!sane) {
    return BadItem(record,
                   absl::StrCat("feature '", absl::CHexEscape(tensor.name.substr(0, 100)), "' (",
                                DtypeName(tensor.dtype), ", ", tensor.rows, " x ", tensor.columns,
                                ", ", tensor.bytes.size(), " bytes) is malformed"));
  }
  *total += bytes;
  return absl::OkStatus();
}

// What the features of all items of a shard have in common: a tensor is a section.
struct FeatureSection {
  std::string name;
  Dtype dtype = Dtype::kFloat32;
  int64_t columns = 0;
  int64_t rows = 0;  // of all items together
};

// The sections that the features of `item` are written to; rows are not counted yet.
std::vector<FeatureSection> SectionsOf(const ItemFeatures& item) {
  std::vector<FeatureSection> sections;
  for (const FeatureTensor& tensor : item.tensors) {
    sections.push_back({tensor.name, tensor.dtype, tensor.columns, 0});
  }
  return sections;
}

// Features must be of the shape that those of the first item, `first_id`, have; their rows
// are added to `sections`.
absl::Status CheckFeatures(const ItemRecord& record, const ItemFeatures& features,
                           const std::string& first_id, std::vector<FeatureSection>* sections) {
  const std::vector<FeatureTensor>& tensors = features.tensors;
  if (tensors.size() != sections->size() || tensors.size() > limits::kMaxFeatureTensors) {
    return BadItem(
        record, absl::StrCat(tensors.size(), " feature tensors where item '",
                             absl::CHexEscape(first_id.substr(0, 100)), "' has ", sections->size(),
                             " (at most ", limits::kMaxFeatureTensors, ")"));
  }
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    RETURN_IF_ERROR(CheckTensor(record, tensors[i], &total));
    FeatureSection& section = (*sections)[i];
    if (tensors[i].name != section.name || tensors[i].dtype != section.dtype ||
        tensors[i].columns != section.columns) {
      return BadItem(record, absl::StrCat("feature ", i,
                                          " differs in name, dtype or columns from "
                                          "that of the other items"));
    }
    for (size_t k = 0; k < i; ++k) {
      if (tensors[k].name == tensors[i].name) {
        return BadItem(record, absl::StrCat("two features named ", tensors[i].name));
      }
    }
    section.rows += tensors[i].rows;
  }
  if (total > limits::kMaxItemFeatureBytes) {
    return BadItem(record, absl::StrCat("its features have ", total, " bytes; at most ",
                                        limits::kMaxItemFeatureBytes, " are kept"));
  }
  return absl::OkStatus();
}

// A shard to be written, and what its items were found to take.
struct Shard {
  std::string directory;
  int number = 0;
  int count = 1;
  int dimension = 0;
  Dtype vector_dtype = kDefaultVectorDtype;
  std::vector<std::string> rerankers;
  std::vector<int64_t> text_bytes;  // of all items, for each column of the item table
  std::vector<std::vector<FeatureSection>> features;  // of each reranker

  std::string FileName(absl::string_view kind) const { return ShardFileName(number, count, kind); }
};

// A column of the item table: its name, and an item's bytes in it.
struct Column {
  const char* name;
  std::function<std::string(const ItemRecord&)> value;
};

const std::vector<Column>& ItemTable() {
  static const auto* const columns = new std::vector<Column>{
      {"item_id", [](const ItemRecord& record) { return record.item_id; }},
      {"caption", [](const ItemRecord& record) { return record.caption; }},
      {"uri", [](const ItemRecord& record) { return record.uri; }},
      {"tags", [](const ItemRecord& record) { return EncodeTags(record.tags); }},
  };
  return *columns;
}

absl::Status CheckPlace(const Shard& shard, const ItemRecord& record,
                        const std::string* previous_id) {
  if (previous_id != nullptr && record.item_id <= *previous_id) {
    return BadItem(record, record.item_id == *previous_id ? "there are two of this id"
                                                          : "comes after a greater id");
  }
  const int home = ShardOf(record.item_id, shard.count);
  if (home != shard.number) return BadItem(record, absl::StrCat("belongs to shard ", home));
  return absl::OkStatus();
}

// Reads everything but the embeddings: checks it, and counts what it takes.
absl::Status Measure(ShardSource& source, Shard* shard) {
  shard->text_bytes.assign(ItemTable().size(), 0);
  shard->features.resize(shard->rerankers.size());
  std::string first_id, previous_id;
  for (int64_t i = 0; i < source.size(); ++i) {
    ASSIGN_OR_RETURN(const ItemRecord* const record, source.Record(i));
    RETURN_IF_ERROR(CheckRecord(*record));
    RETURN_IF_ERROR(CheckPlace(*shard, *record, i > 0 ? &previous_id : nullptr));
    for (size_t k = 0; k < ItemTable().size(); ++k) {
      shard->text_bytes[k] += static_cast<int64_t>(ItemTable()[k].value(*record).size());
    }
    previous_id = record->item_id;
    if (i == 0) first_id = previous_id;
    for (size_t reranker = 0; reranker < shard->rerankers.size(); ++reranker) {
      ASSIGN_OR_RETURN(const ItemFeatures* const features,
                       source.Features(i, static_cast<int>(reranker)));
      if (i == 0) shard->features[reranker] = SectionsOf(*features);
      RETURN_IF_ERROR(CheckFeatures(*record, *features, first_id, &shard->features[reranker]));
    }
  }
  return absl::OkStatus();
}

// A container and its place in the manifest.
absl::Status Finish(ContainerWriter& writer, const std::string& name, BundleFile* file) {
  ASSIGN_OR_RETURN(const ContainerWriter::Summary summary, writer.Finish());
  file->set_path(name);
  file->set_byte_count(summary.byte_count);
  file->set_sha256(summary.sha256);
  return absl::OkStatus();
}

// Ends of variable-length values, one after another, as a section takes them.
class OffsetList {
 public:
  explicit OffsetList(int64_t count) {
    bytes_.reserve(static_cast<size_t>(count + 1) * sizeof(int64_t));
    AppendLittleEndian(end_, &bytes_);
  }
  void Add(int64_t length) {
    end_ += length;
    AppendLittleEndian(end_, &bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  int64_t end_ = 0;
  std::string bytes_;
};

// The column is there for all items or for none.
absl::Status AppendContentHashes(ShardSource& source, ContainerWriter& writer) {
  for (int64_t i = 0; i < source.size(); ++i) {
    const absl::string_view hash = source.ContentHash(i);
    if (static_cast<int64_t>(hash.size()) != kContentHashBytes) {
      ASSIGN_OR_RETURN(const ItemRecord* const record, source.Record(i));
      return BadItem(*record, absl::StrCat("its content hash has ", hash.size(), " bytes, not ",
                                           kContentHashBytes));
    }
    RETURN_IF_ERROR(writer.Append(hash));
  }
  return absl::OkStatus();
}

absl::Status WriteVectors(const Shard& shard, ShardSource& source, BundleFile* file) {
  const int64_t count = source.size();
  const bool has_hashes = count > 0 && !source.ContentHash(0).empty();
  const std::string name = shard.FileName("vectors");
  ASSIGN_OR_RETURN(std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(JoinPath(shard.directory, name)));
  RETURN_IF_ERROR(writer->Declare("embeddings", shard.vector_dtype, {count, shard.dimension},
                                  /*padded_rows=*/true));
  for (size_t k = 0; k < ItemTable().size(); ++k) {
    const char* const column = ItemTable()[k].name;
    RETURN_IF_ERROR(writer->Declare(column, Dtype::kBytes, {shard.text_bytes[k]}));
    RETURN_IF_ERROR(writer->Declare(absl::StrCat(column, "/offsets"), Dtype::kInt64, {count + 1}));
  }
  if (has_hashes) {
    RETURN_IF_ERROR(writer->Declare("content_hash", Dtype::kBytes, {count, kContentHashBytes}));
  }
  std::string stored;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const absl::Span<const float> embedding, source.Embedding(i));
    ASSIGN_OR_RETURN(const ItemRecord* const record, source.Record(i));
    RETURN_IF_ERROR(CheckEmbedding(*record, embedding, shard.dimension));
    RETURN_IF_ERROR(EncodeEmbedding(*record, embedding, shard.vector_dtype, &stored));
    RETURN_IF_ERROR(writer->Append(stored));
  }
  for (const Column& column : ItemTable()) {
    OffsetList offsets(count);
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const ItemRecord* const record, source.Record(i));
      const std::string value = column.value(*record);
      RETURN_IF_ERROR(writer->Append(value));
      offsets.Add(static_cast<int64_t>(value.size()));
    }
    RETURN_IF_ERROR(writer->Append(offsets.bytes()));
  }
  if (has_hashes) RETURN_IF_ERROR(AppendContentHashes(source, *writer));
  return Finish(*writer, name, file);
}

absl::Status DeclareFeatures(const Shard& shard, int64_t count, ContainerWriter& writer) {
  for (size_t reranker = 0; reranker < shard.rerankers.size(); ++reranker) {
    for (const FeatureSection& section : shard.features[reranker]) {
      const std::string path = absl::StrCat(shard.rerankers[reranker], "/", section.name);
      RETURN_IF_ERROR(writer.Declare(path, section.dtype, {section.rows, section.columns}));
      RETURN_IF_ERROR(writer.Declare(absl::StrCat(path, "/rows"), Dtype::kInt64, {count + 1}));
    }
    RETURN_IF_ERROR(
        writer.Declare(ItemChecksumsSection(shard.rerankers[reranker]), Dtype::kInt32, {count}));
  }
  return absl::OkStatus();
}

// The `tensor`-th of each item's features for one reranker, and how they share out its rows.
// Goes on with the items' checksums.
absl::Status AppendTensor(ShardSource& source, int reranker, size_t tensor, ContainerWriter& writer,
                          std::vector<uint32_t>* checksums) {
  const int64_t count = source.size();
  OffsetList offsets(count);
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const ItemFeatures* const features, source.Features(i, reranker));
    const FeatureTensor& own = features->tensors[tensor];
    RETURN_IF_ERROR(writer.Append(own.bytes));
    offsets.Add(own.rows);
    (*checksums)[i] = ItemChecksum((*checksums)[i], own.rows, own.bytes);
  }
  return writer.Append(offsets.bytes());
}

absl::Status WriteFeatures(const Shard& shard, ShardSource& source, BundleFile* file) {
  const std::string models = absl::StrJoin(shard.rerankers, "");
  const std::string name = shard.FileName("features");
  ASSIGN_OR_RETURN(std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(JoinPath(shard.directory, name)));
  RETURN_IF_ERROR(writer->Declare("models", Dtype::kBytes, {static_cast<int64_t>(models.size())}));
  RETURN_IF_ERROR(DeclareFeatures(shard, source.size(), *writer));
  RETURN_IF_ERROR(writer->Append(models));
  for (size_t reranker = 0; reranker < shard.rerankers.size(); ++reranker) {
    std::vector<uint32_t> checksums(static_cast<size_t>(source.size()), 0);
    for (size_t tensor = 0; tensor < shard.features[reranker].size(); ++tensor) {
      RETURN_IF_ERROR(
          AppendTensor(source, static_cast<int>(reranker), tensor, *writer, &checksums));
    }
    RETURN_IF_ERROR(writer->Append(absl::string_view(
        reinterpret_cast<const char*>(checksums.data()), checksums.size() * sizeof(uint32_t))));
  }
  return Finish(*writer, name, file);
}

// They name sections of the features file.
absl::Status CheckModels(const std::vector<std::string>& rerankers) {
  if (rerankers.size() > limits::kMaxRerankers) {
    return absl::InvalidArgumentError(
        absl::StrCat(rerankers.size(), " rerankers; at most ", limits::kMaxRerankers));
  }
  for (size_t i = 0; i < rerankers.size(); ++i) {
    const std::string shown = absl::CHexEscape(rerankers[i].substr(0, 100));
    if (!IsSha256Hex(rerankers[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("reranker model '", shown, "' is not 64 lower-case hex digits"));
    }
    if (std::count(rerankers.begin(), rerankers.begin() + i, rerankers[i]) > 0) {
      return absl::InvalidArgumentError(absl::StrCat("reranker model ", shown, " is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShard(const Shard& shard) {
  if (shard.count < 1 || shard.count > limits::kMaxShards || shard.number < 0 ||
      shard.number >= shard.count) {
    return absl::InvalidArgumentError(absl::StrCat("shard ", shard.number, " of ", shard.count,
                                                   " (at most ", limits::kMaxShards, ")"));
  }
  if (shard.dimension < 1 || shard.dimension > limits::kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", shard.dimension, ", not 1 to ", limits::kMaxDimension));
  }
  if (!IsVectorDtype(shard.vector_dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("vectors of ", DtypeName(shard.vector_dtype),
                                                   ", not ",
                                                   absl::StrJoin(VectorDtypeNames(), " or ")));
  }
  return CheckModels(shard.rerankers);
}

// Items in memory, sorted.
class SourceInMemory : public ShardSource {
 public:
  explicit SourceInMemory(const std::vector<EncodedItem>& items) : items_(items) {}

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override { return &items_[i].record; }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override {
    return absl::MakeConstSpan(items_[i].embedding);
  }
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override {
    return &items_[i].features[reranker];
  }

 private:
  const std::vector<EncodedItem>& items_;
};

}  // namespace

absl::StatusOr<ShardManifest> WriteShardFrom(absl::string_view directory, int shard,
                                             int shard_count, int dimension,
                                             absl::Span<const std::string> rerankers,
                                             ShardSource& source, Dtype vector_dtype) {
  Shard writing;
  writing.directory = std::string(directory);
  writing.number = shard;
  writing.count = shard_count;
  writing.dimension = dimension;
  writing.vector_dtype = vector_dtype;
  writing.rerankers.assign(rerankers.begin(), rerankers.end());
  RETURN_IF_ERROR(CheckShard(writing));
  RETURN_IF_ERROR(Measure(source, &writing));

  RETURN_IF_ERROR(MakeDirectories(JoinPath(writing.directory, "shards")));
  ShardManifest manifest;
  manifest.set_item_count(source.size());
  RETURN_IF_ERROR(WriteVectors(writing, source, manifest.mutable_vectors()));
  if (!rerankers.empty()) {
    RETURN_IF_ERROR(WriteFeatures(writing, source, manifest.mutable_features()));
  }
  return manifest;
}

absl::StatusOr<ShardManifest> WriteShard(absl::string_view directory, int shard, int shard_count,
                                         int dimension, absl::Span<const std::string> rerankers,
                                         std::vector<EncodedItem> items, Dtype vector_dtype) {
  std::sort(items.begin(), items.end(), [](const EncodedItem& a, const EncodedItem& b) {
    return a.record.item_id < b.record.item_id;
  });
  // Before anything is written, since all of it is at hand.
  std::string stored;
  for (const EncodedItem& item : items) {
    RETURN_IF_ERROR(CheckEmbedding(item.record, item.embedding, dimension));
    RETURN_IF_ERROR(EncodeEmbedding(item.record, item.embedding, vector_dtype, &stored));
    if (item.features.size() == rerankers.size()) continue;
    return BadItem(item.record, absl::StrCat("has features of ", item.features.size(),
                                             " rerankers, not of ", rerankers.size()));
  }
  SourceInMemory source(items);
  return WriteShardFrom(directory, shard, shard_count, dimension, rerankers, source, vector_dtype);
}

}  // namespace sightline
