#include "common/bundle/section_reader.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace sightline {

absl::StatusOr<absl::string_view> SectionReader::View(int64_t begin, int64_t length) {
  if (loaded_ != nullptr) {
    return loaded_->view().substr(static_cast<size_t>(begin), static_cast<size_t>(length));
  }
  if (length == 0) return absl::string_view();
  const int64_t first = begin / piece_;
  const int64_t end = (begin + length - 1) / piece_ + 1;
  int64_t have = (static_cast<int64_t>(buffer_.size()) + piece_ - 1) / piece_;
  if (first < first_piece_ || first > first_piece_ + have) {
    buffer_.clear();
    have = 0;
  } else {
    const int64_t unused = std::min(first - first_piece_, have);
    buffer_.erase(0, static_cast<size_t>(unused * piece_));
    have -= unused;
  }
  first_piece_ = first;
  for (int64_t piece = first + have; piece < end; ++piece) {
    const int64_t from = piece * piece_;
    const int64_t bytes = std::min(piece_, section_->length - from);
    const size_t at = buffer_.size();
    buffer_.resize(at + static_cast<size_t>(bytes));
    const absl::Status read = ReadPiece(from, bytes, &buffer_[at]);
    if (read.ok()) continue;
    buffer_.clear();
    return read;
  }
  return absl::string_view(buffer_).substr(static_cast<size_t>(begin - first * piece_),
                                           static_cast<size_t>(length));
}

absl::Status SectionReader::ReadPiece(int64_t begin, int64_t length, char* to) const {
  if (piece_ != Container::kBlockBytes) return container_->Read(*section_, begin, length, to);
  return container_->ReadBlocks(*section_, begin / piece_, 1, to);
}

}  // namespace sightline
