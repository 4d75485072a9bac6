#include "services/corpus_encoder/merged_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kTickEvery = 4096;

// For a heap with the smallest id in front.
struct Later {
  template <typename Head>
  bool operator()(const Head& a, const Head& b) const {
    return a.row.item_id > b.row.item_id;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<MergedRows>> MergedRows::Open(const RowSources& sources,
                                                             ItemIndex index, int shard,
                                                             const CallContext& call) {
  std::unique_ptr<MergedRows> rows(new MergedRows(sources, index, shard, call));
  if (sources.base != nullptr) rows->base_ = std::make_unique<BaseReader>(*sources.base);
  for (size_t i = 0; i < sources.files.size(); ++i) {
    RETURN_IF_ERROR(call.Check("looking at the rows"));
    ASSIGN_OR_RETURN(const Head head, rows->OpenHead(i));
    if (head.file == nullptr) continue;
    rows->size_ += head.file->size(index, shard);
    rows->stretches_.push_back({i, std::string(head.row.item_id)});
  }
  std::sort(rows->stretches_.begin(), rows->stretches_.end(),
            [](const Stretch& a, const Stretch& b) { return a.first_id < b.first_id; });
  return rows;
}

// At its first row; without a file if there is none.
absl::StatusOr<MergedRows::Head> MergedRows::OpenHead(size_t file) const {
  Head head;
  ASSIGN_OR_RETURN(std::unique_ptr<RowFile> opened,
                   RowFile::Open(sources_.files[file], sources_.shard_count, sources_.dimension,
                                 /*verify=*/false));
  auto cursor = std::make_unique<RowFile::Cursor>(*opened, index_, shard_);
  ASSIGN_OR_RETURN(const bool any, cursor->Next(&head.row));
  if (!any) return head;
  head.file = std::move(opened);
  head.cursor = std::move(cursor);
  return head;
}

absl::Status MergedRows::Seek(int64_t i) {
  if (i == position_ || !error_.ok()) return error_;
  if (i == 0) {
    heads_.clear();
    next_stretch_ = 0;
    position_ = -1;
  }
  if (i != position_ + 1) {
    error_ = absl::InternalError(absl::StrCat("row ", i, " is asked for after row ", position_));
    return error_;
  }
  error_ = Advance();
  if (error_.ok()) position_ = i;
  return error_;
}

absl::Status MergedRows::Advance() {
  if (position_ % kTickEvery == 0) {
    RETURN_IF_ERROR(call_.Check("writing the generation"));
    if (sources_.tick) sources_.tick();
  }
  if (position_ >= 0) {
    std::pop_heap(heads_.begin(), heads_.end(), Later());
    Head& last = heads_.back();
    ASSIGN_OR_RETURN(const bool more, last.cursor->Next(&last.row));
    if (more) {
      std::push_heap(heads_.begin(), heads_.end(), Later());
    } else {
      heads_.pop_back();
    }
  }
  return OpenDue();
}

// Opens the stretches that may hold the smallest id.
absl::Status MergedRows::OpenDue() {
  while (next_stretch_ < stretches_.size() &&
         (heads_.empty() || stretches_[next_stretch_].first_id <= current().row.item_id)) {
    ASSIGN_OR_RETURN(Head head, OpenHead(stretches_[next_stretch_].file));
    ++next_stretch_;
    if (head.file == nullptr) return absl::DataLossError("a row file has lost its rows");
    heads_.push_back(std::move(head));
    std::push_heap(heads_.begin(), heads_.end(), Later());
  }
  if (heads_.empty()) return absl::DataLossError("a row file has lost its rows");
  return absl::OkStatus();
}

absl::Status MergedRows::CheckBase() const {
  if (sources_.base != nullptr && sources_.base->Holds(current().row.base)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("item ", current().row.item_id, " is said to lie where the base has none"));
}

absl::StatusOr<const ItemRecord*> MergedRows::Record(int64_t i) {
  RETURN_IF_ERROR(Seek(i));
  const StoredRow& row = current().row;
  record_.item_id = std::string(row.item_id);
  record_.caption = std::string(row.caption);
  record_.uri = std::string(row.uri);
  record_.tags = TagsOf(row);
  return &record_;
}

absl::StatusOr<absl::Span<const float>> MergedRows::Embedding(int64_t i) {
  RETURN_IF_ERROR(Seek(i));
  if (!carried()) {
    embedding_.resize(static_cast<size_t>(sources_.dimension));
    RETURN_IF_ERROR(current().file->Embedding(current().row, absl::MakeSpan(embedding_)));
    return absl::MakeConstSpan(embedding_);
  }
  RETURN_IF_ERROR(CheckBase());
  ASSIGN_OR_RETURN(embedding_, base_->Embedding(current().row.base));
  return absl::MakeConstSpan(embedding_);
}

absl::StatusOr<const ItemFeatures*> MergedRows::Features(int64_t i, int reranker) {
  RETURN_IF_ERROR(Seek(i));
  if (carried()) {
    RETURN_IF_ERROR(CheckBase());
    ASSIGN_OR_RETURN(features_, base_->Features(current().row.base, reranker));
  } else {
    RETURN_IF_ERROR(current().file->Features(current().row, reranker, &features_));
  }
  return &features_;
}

absl::string_view MergedRows::ContentHash(int64_t i) {
  // The writer asks for the record of what has no hash, and gets the error there.
  return Seek(i).ok() ? current().row.content_hash : absl::string_view();
}

}  // namespace sightline
