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
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/bundle/container.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/layout.h"
#include "common/bundle/little_endian.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ShardManifest;

absl::Status BadItem(const EncodedItem& item, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("item '", absl::CHexEscape(item.record.item_id.substr(0, 100)), "': ", why));
}

std::string EncodeTags(const std::vector<std::string>& tags) {
  std::string bytes;
  for (const std::string& tag : tags) {
    AppendLittleEndian(static_cast<uint32_t>(tag.size()), &bytes);
    bytes += tag;
  }
  return bytes;
}

absl::Status CheckRecord(const EncodedItem& item) {
  const ItemRecord& record = item.record;
  const auto id_length = static_cast<int64_t>(record.item_id.size());
  if (id_length < 1 || id_length > kMaxItemIdBytes) {
    return BadItem(item,
                   absl::StrCat("an id has 1 to ", kMaxItemIdBytes, " bytes, not ", id_length));
  }
  int64_t tag_bytes = 0;
  bool valid =
      IsValidUtf8(record.item_id) && IsValidUtf8(record.caption) && IsValidUtf8(record.uri);
  for (const std::string& tag : record.tags) {
    valid = valid && IsValidUtf8(tag);
    tag_bytes += static_cast<int64_t>(sizeof(uint32_t) + tag.size());
  }
  if (!valid) return BadItem(item, "a text is not UTF-8");
  const auto longest = std::max({static_cast<int64_t>(record.caption.size()),
                                 static_cast<int64_t>(record.uri.size()), tag_bytes});
  if (longest > kMaxRecordFieldBytes) {
    return BadItem(item, absl::StrCat("caption, uri or tags have ", longest, " bytes; at most ",
                                      kMaxRecordFieldBytes, " are kept"));
  }
  return absl::OkStatus();
}

absl::Status CheckEmbedding(const EncodedItem& item, int dimension) {
  if (item.embedding.size() != static_cast<size_t>(dimension)) {
    return BadItem(item, absl::StrCat("the embedding has ", item.embedding.size(), " numbers, not ",
                                      dimension));
  }
  for (const float number : item.embedding) {
    if (!std::isfinite(number)) return BadItem(item, "the embedding is not finite");
  }
  return absl::OkStatus();
}

// Whether the bytes of `tensor` are as many as it says; adds them to `total`.
absl::Status CheckTensor(const EncodedItem& item, const FeatureTensor& tensor, int64_t* total) {
  int64_t bytes = static_cast<int64_t>(DtypeSize(tensor.dtype));
  const bool sane = IsFeatureName(tensor.name) && bytes > 0 && tensor.rows >= 0 &&
                    tensor.columns >= 1 && !__builtin_mul_overflow(bytes, tensor.columns, &bytes) &&
                    !__builtin_mul_overflow(bytes, tensor.rows, &bytes) &&
                    bytes == static_cast<int64_t>(tensor.bytes.size());
  if (!sane) {
    return BadItem(
        item, absl::StrCat("feature '", absl::CHexEscape(tensor.name.substr(0, 100)), "' (",
                           DtypeName(tensor.dtype), ", ", tensor.rows, " x ", tensor.columns, ", ",
                           tensor.bytes.size(), " bytes) is malformed"));
  }
  *total += bytes;
  return absl::OkStatus();
}

// Features must be of the shape that those of the first item have.
absl::Status CheckFeatures(const EncodedItem& item, const EncodedItem& first) {
  const std::vector<FeatureTensor>& tensors = item.features.tensors;
  const std::vector<FeatureTensor>& expected = first.features.tensors;
  if (tensors.size() != expected.size() || tensors.size() > kMaxFeatureTensors) {
    return BadItem(item,
                   absl::StrCat(tensors.size(), " feature tensors where item '",
                                absl::CHexEscape(first.record.item_id.substr(0, 100)), "' has ",
                                expected.size(), " (at most ", kMaxFeatureTensors, ")"));
  }
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    RETURN_IF_ERROR(CheckTensor(item, tensors[i], &total));
    if (tensors[i].name != expected[i].name || tensors[i].dtype != expected[i].dtype ||
        tensors[i].columns != expected[i].columns) {
      return BadItem(item, absl::StrCat("feature ", i,
                                        " differs in name, dtype or columns from "
                                        "that of the other items"));
    }
    for (size_t k = 0; k < i; ++k) {
      if (tensors[k].name == tensors[i].name) {
        return BadItem(item, absl::StrCat("two features named ", tensors[i].name));
      }
    }
  }
  if (total > kMaxItemFeatureBytes) {
    return BadItem(item, absl::StrCat("its features have ", total, " bytes; at most ",
                                      kMaxItemFeatureBytes, " are kept"));
  }
  return absl::OkStatus();
}

absl::Status CheckItems(const std::vector<EncodedItem>& items, int shard, int shard_count,
                        int dimension, bool with_features) {
  for (size_t i = 0; i < items.size(); ++i) {
    const EncodedItem& item = items[i];
    RETURN_IF_ERROR(CheckRecord(item));
    if (i > 0 && item.record.item_id == items[i - 1].record.item_id) {
      return BadItem(item, "there are two of this id");
    }
    const int home = ShardOf(item.record.item_id, shard_count);
    if (home != shard) return BadItem(item, absl::StrCat("belongs to shard ", home));
    RETURN_IF_ERROR(CheckEmbedding(item, dimension));
    if (!with_features && !item.features.tensors.empty()) {
      return BadItem(item, "has features, but no reranker is named that they are of");
    }
    RETURN_IF_ERROR(CheckFeatures(item, items[0]));
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

// Appends n + 1 offsets; `length` gives that of each item.
absl::Status AppendOffsets(ContainerWriter& writer, const std::vector<EncodedItem>& items,
                           const std::function<int64_t(const EncodedItem&)>& length) {
  std::string offsets;
  offsets.reserve((items.size() + 1) * sizeof(int64_t));
  int64_t end = 0;
  AppendLittleEndian(end, &offsets);
  for (const EncodedItem& item : items) {
    end += length(item);
    AppendLittleEndian(end, &offsets);
  }
  return writer.Append(offsets);
}

// A column of the item table: its name, and an item's bytes in it.
struct Column {
  const char* name;
  std::function<std::string(const EncodedItem&)> value;
};

const std::vector<Column>& ItemTable() {
  static const auto* const columns = new std::vector<Column>{
      {"item_id", [](const EncodedItem& item) { return item.record.item_id; }},
      {"caption", [](const EncodedItem& item) { return item.record.caption; }},
      {"uri", [](const EncodedItem& item) { return item.record.uri; }},
      {"tags", [](const EncodedItem& item) { return EncodeTags(item.record.tags); }},
  };
  return *columns;
}

absl::Status WriteVectors(const std::string& directory, const std::string& name, int dimension,
                          const std::vector<EncodedItem>& items, BundleFile* file) {
  const auto count = static_cast<int64_t>(items.size());
  ASSIGN_OR_RETURN(std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(JoinPath(directory, name)));
  RETURN_IF_ERROR(writer->Declare("embeddings", Dtype::kFloat32, {count, dimension},
                                  /*padded_rows=*/true));
  for (const Column& column : ItemTable()) {
    int64_t length = 0;
    for (const EncodedItem& item : items) length += static_cast<int64_t>(column.value(item).size());
    RETURN_IF_ERROR(writer->Declare(column.name, Dtype::kBytes, {length}));
    RETURN_IF_ERROR(
        writer->Declare(absl::StrCat(column.name, "/offsets"), Dtype::kInt64, {count + 1}));
  }
  for (const EncodedItem& item : items) {
    RETURN_IF_ERROR(
        writer->Append(absl::string_view(reinterpret_cast<const char*>(item.embedding.data()),
                                         item.embedding.size() * sizeof(float))));
  }
  for (const Column& column : ItemTable()) {
    for (const EncodedItem& item : items) RETURN_IF_ERROR(writer->Append(column.value(item)));
    RETURN_IF_ERROR(AppendOffsets(*writer, items, [&](const EncodedItem& item) {
      return static_cast<int64_t>(column.value(item).size());
    }));
  }
  return Finish(*writer, name, file);
}

absl::Status WriteFeatures(const std::string& directory, const std::string& name,
                           absl::string_view model, const std::vector<EncodedItem>& items,
                           BundleFile* file) {
  ASSIGN_OR_RETURN(std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(JoinPath(directory, name)));
  RETURN_IF_ERROR(writer->Declare("models", Dtype::kBytes, {static_cast<int64_t>(model.size())}));
  const size_t tensor_count = items.empty() ? 0 : items[0].features.tensors.size();
  for (size_t i = 0; i < tensor_count; ++i) {
    int64_t rows = 0;
    for (const EncodedItem& item : items) rows += item.features.tensors[i].rows;
    const FeatureTensor& tensor = items[0].features.tensors[i];
    const std::string section = absl::StrCat(model, "/", tensor.name);
    RETURN_IF_ERROR(writer->Declare(section, tensor.dtype, {rows, tensor.columns}));
    RETURN_IF_ERROR(writer->Declare(absl::StrCat(section, "/rows"), Dtype::kInt64,
                                    {static_cast<int64_t>(items.size()) + 1}));
  }
  RETURN_IF_ERROR(writer->Append(model));
  for (size_t i = 0; i < tensor_count; ++i) {
    for (const EncodedItem& item : items) {
      RETURN_IF_ERROR(writer->Append(item.features.tensors[i].bytes));
    }
    RETURN_IF_ERROR(AppendOffsets(
        *writer, items, [i](const EncodedItem& item) { return item.features.tensors[i].rows; }));
  }
  return Finish(*writer, name, file);
}

}  // namespace

absl::StatusOr<ShardManifest> WriteShard(absl::string_view directory, int shard, int shard_count,
                                         int dimension, absl::string_view reranker_model,
                                         std::vector<EncodedItem> items) {
  if (shard_count < 1 || shard_count > kMaxShardCount || shard < 0 || shard >= shard_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", shard, " of ", shard_count, " (at most ", kMaxShardCount, ")"));
  }
  if (dimension < 1 || dimension > kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", dimension, ", not 1 to ", kMaxDimension));
  }
  if (!reranker_model.empty() && !IsSha256Hex(reranker_model)) {
    return absl::InvalidArgumentError(absl::StrCat("reranker model '",
                                                   absl::CHexEscape(reranker_model.substr(0, 100)),
                                                   "' is not 64 lower-case hex digits"));
  }
  std::sort(items.begin(), items.end(), [](const EncodedItem& a, const EncodedItem& b) {
    return a.record.item_id < b.record.item_id;
  });
  RETURN_IF_ERROR(CheckItems(items, shard, shard_count, dimension, !reranker_model.empty()));

  const std::string folder(directory);
  RETURN_IF_ERROR(MakeDirectories(JoinPath(folder, "shards")));
  ShardManifest manifest;
  manifest.set_item_count(static_cast<int64_t>(items.size()));
  RETURN_IF_ERROR(WriteVectors(folder, ShardFileName(shard, shard_count, "vectors"), dimension,
                               items, manifest.mutable_vectors()));
  if (!reranker_model.empty()) {
    RETURN_IF_ERROR(WriteFeatures(folder, ShardFileName(shard, shard_count, "features"),
                                  reranker_model, items, manifest.mutable_features()));
  }
  return manifest;
}

}  // namespace sightline
