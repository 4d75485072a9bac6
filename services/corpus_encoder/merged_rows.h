// The items of one shard, merged from row files when the writer asks for them.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_MERGED_ROWS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_MERGED_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/shard_source.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/row_file.h"

namespace sightline {

// Where a shard's rows are taken from.  All of it outlives who uses it.
struct RowSources {
  absl::Span<const std::string> files;  // paths, of row files
  int shard_count = 1;
  int dimension = 0;
  const BaseIndex* base = nullptr;  // of this index; null: nothing is carried over
  std::function<void()> tick;       // called now and then, if it is set
};

// Holds the first id of its stretch of each file, and opens those files whose stretches overlap
// where it is: few, as files hold neighbours.  All that is read is compared (row_file.h,
// BaseReader).  Not thread-safe.
class MergedRows : public ShardSource {
 public:
  // Looks at every file.  Reading fails when `call` ends.  DataLoss for a file that is damaged, and
  // the like from reading.
  static absl::StatusOr<std::unique_ptr<MergedRows>> Open(const RowSources& sources,
                                                          ItemIndex index, int shard,
                                                          const CallContext& call);

  int64_t size() const override { return size_; }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override;
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override;
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override;
  absl::string_view ContentHash(int64_t i) override;

 private:
  // A file's stretch.
  struct Stretch {
    size_t file = 0;
    std::string first_id;
  };
  // One that the current row may come from next.
  struct Head {
    std::unique_ptr<RowFile> file;
    std::unique_ptr<RowFile::Cursor> cursor;
    StoredRow row;
  };

  MergedRows(const RowSources& sources, ItemIndex index, int shard, const CallContext& call)
      : sources_(sources), index_(index), shard_(shard), call_(call) {}

  absl::StatusOr<Head> OpenHead(size_t file) const;
  // Makes row `i` the current one.
  absl::Status Seek(int64_t i);
  absl::Status Advance();
  absl::Status OpenDue();
  const Head& current() const { return heads_.front(); }
  bool carried() const { return current().row.embedding < 0; }
  absl::Status CheckBase() const;

  const RowSources sources_;
  const ItemIndex index_;
  const int shard_;
  const CallContext call_;
  std::vector<Stretch> stretches_;  // by first id
  int64_t size_ = 0;

  std::unique_ptr<BaseReader> base_;  // null: nothing is carried over
  std::vector<Head> heads_;           // a heap, the smallest id first
  size_t next_stretch_ = 0;
  int64_t position_ = -1;
  absl::Status error_;  // of the first failure, which ends the reading
  ItemRecord record_;
  std::vector<float> embedding_;
  ItemFeatures features_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_MERGED_ROWS_H_
