// Results on their way from units to shards: those of some units, or of some pictures that
// are carried over, in the order that shards need them.
//
// A unit holds neighbours, and shards take its items apart.  So each unit is read once and
// its rows are copied here, sorted by index, shard and id; a shard then reads its stretch of
// each row file, from front to back.  A container (common/bundle/container.h):
//
//   judgement   bytes: what was found wrong, see RowJudgement
//   segments    int64 [2 * shards, 3], images before captions: rows, and where their records
//               begin and end
//   records     bytes, of each row: u32 length of what follows but for u32 its CRC32C; texts id,
//               caption, uri and tags (texts again), 32 bytes of content hash, i64 row of
//               `embeddings`.  -1 there: it is carried over, and i32 shard and i64 row of the
//               base follow; otherwise u32 CRC32C of the embedding, text tensors (of each u8
//               reranker, text name, u32 dtype, i64 rows, i64 columns, u32 CRC32C) and i64 where
//               the first of them begins
//   embeddings  fp32 [rows that are not carried over, dimension]
//   tensors     bytes
//
// A shard's stretch is short beside the MiB that a checksum of the container covers, so rows have
// their own, by which they are compared whenever they are read.  Those of values were taken when
// the unit was read: nothing is copied on the way to a shard that is not what the unit held.
// Equal input gives equal bytes.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_FILE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"
#include "common/bundle/item_record.h"
#include "common/dataset/corpus.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/corpus_checks.h"
#include "services/corpus_encoder/item_codec.h"
#include "services/corpus_encoder/unit_file.h"

namespace sightline {

// The two indexes that a job writes.
enum class ItemIndex { kImages = 0, kCaptions = 1 };
inline constexpr ItemIndex kItemIndexes[] = {ItemIndex::kImages, ItemIndex::kCaptions};

// One item, with what makes its record and where its result lies.
struct ItemRow {
  ItemRecord record;
  std::string content_hash;  // raw
  // Null: it is carried over, from `base`.  The file must live until the rows are written.
  const UnitFile* unit = nullptr;
  const UnitFile::Row* row = nullptr;  // of that file
  // CRC32C of what was found there.
  uint32_t embedding_checksum = 0;
  std::vector<uint32_t> tensor_checksums;
  BaseIndex::Place base;
};

// What is known of some items when they are collected, beside the rows.
struct RowJudgement {
  std::vector<CorpusProblem> bad_images, bad_captions;
  int64_t dropped_caption_count = 0;  // of bad images, which take them along
  CollapseCheck images, captions;
};

inline auto FieldsOf(CorpusProblem& problem) {
  return std::tie(problem.item_id, problem.path, problem.reason);
}
inline auto FieldsOf(RowJudgement& found) {
  return std::tie(found.bad_images, found.bad_captions, found.dropped_caption_count, found.images,
                  found.captions);
}

// Gathers rows and writes them.  Holds their records; embeddings and features stay where
// they are until they are copied.
class RowFileWriter {
 public:
  RowFileWriter(int shard_count, int dimension)
      : shard_count_(shard_count), dimension_(dimension) {}

  void Add(ItemIndex index, ItemRow row);
  RowJudgement& judgement() { return judgement_; }

  // Sorts and writes.  Makes the folder where it is missing.
  absl::Status WriteTo(const std::string& path);

 private:
  struct Entry {
    int segment = 0;
    ItemRow row;
  };

  void BuildRecords();
  std::string RecordOf(const ItemRow& row);
  absl::Status WriteData(ContainerWriter& writer) const;

  const int shard_count_;
  const int dimension_;
  RowJudgement judgement_;
  std::vector<Entry> entries_;
  // Filled when it is written.
  std::string records_;
  std::vector<int64_t> segments_;
  int64_t embedding_count_ = 0;
  int64_t tensor_bytes_ = 0;
};

// A row as it lies in a file; its texts live until the cursor goes on.
struct StoredRow {
  absl::string_view item_id, caption, uri, tags, content_hash;
  int64_t embedding = -1;  // -1: it is carried over, from `base`
  BaseIndex::Place base;
  uint32_t embedding_checksum = 0;
  absl::string_view tensors;
  int64_t tensors_begin = 0;
};

// A row file, read as it is asked for.  Immutable, thread-safe.
class RowFile {
 public:
  // DataLoss if it is damaged or is not of this number of shards and dimension; NotFound if it
  // is not there; Unavailable (READ_FAILED), as all that reads it, if it cannot be read.  With
  // `verify` all checksums are compared first.
  static absl::StatusOr<std::unique_ptr<RowFile>> Open(absl::string_view path, int shard_count,
                                                       int dimension, bool verify);

  absl::StatusOr<RowJudgement> Judgement() const;
  int64_t size(ItemIndex index, int shard) const { return Segment(index, shard)[0]; }
  int64_t size(ItemIndex index) const;  // of all shards

  // The rows of a segment, in order.  Holds 64 KiB, or the longest row.  The file must outlive it.
  class Cursor {
   public:
    Cursor(const RowFile& file, ItemIndex index, int shard);
    // False after the last; DataLoss for a row that is malformed or not what was written.
    absl::StatusOr<bool> Next(StoredRow* row);

   private:
    absl::Status Fill(int64_t wanted);
    absl::StatusOr<absl::string_view> NextRecord();

    const RowFile* file_;
    int64_t left_;        // rows
    int64_t next_;        // byte of the section that the buffer begins with
    int64_t end_;         // of the segment
    std::string buffer_;  // from the current record on
    int64_t taken_ = 0;   // of the buffer
  };

  // Copies of what a row of this file that is not carried over has.  `to` has as many numbers as
  // the dimension is.  DataLoss for tensors that do not fit, or for what is not as it was written.
  absl::Status Embedding(const StoredRow& row, absl::Span<float> to) const;
  absl::Status Features(const StoredRow& row, int reranker, ItemFeatures* features) const;

 private:
  RowFile() = default;
  absl::Status Parse(int shard_count, int dimension);
  const int64_t* Segment(ItemIndex index, int shard) const;
  absl::Status Malformed(absl::string_view what) const;

  std::unique_ptr<Container> container_;
  int shard_count_ = 0;
  std::vector<int64_t> segments_;
  const Section* judgement_ = nullptr;
  const Section* records_ = nullptr;
  const Section* embeddings_ = nullptr;
  const Section* tensors_ = nullptr;
};

// The tags of a row's record.
std::vector<std::string> TagsOf(const StoredRow& row);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_FILE_H_
