#include "common/bundle/section_reader.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kBlock = Container::kBlockBytes;

}  // namespace

absl::StatusOr<absl::string_view> SectionReader::View(int64_t begin, int64_t length) {
  if (loaded_ != nullptr) {
    return loaded_->view().substr(static_cast<size_t>(begin), static_cast<size_t>(length));
  }
  if (length == 0) return absl::string_view();
  const int64_t first = begin / kBlock;
  const int64_t end = (begin + length - 1) / kBlock + 1;
  int64_t have = (static_cast<int64_t>(buffer_.size()) + kBlock - 1) / kBlock;
  if (first < first_block_ || first > first_block_ + have) {
    buffer_.clear();
    have = 0;
  } else {
    const int64_t unused = std::min(first - first_block_, have);
    buffer_.erase(0, static_cast<size_t>(unused * kBlock));
    have -= unused;
  }
  first_block_ = first;
  for (int64_t block = first + have; block < end; ++block) {
    const int64_t from = block * kBlock;
    const size_t at = buffer_.size();
    buffer_.resize(at + static_cast<size_t>(std::min(kBlock, section_.length - from)));
    const absl::Status read = container_.ReadBlocks(section_, block, 1, &buffer_[at]);
    if (read.ok()) continue;
    buffer_.clear();
    return read;
  }
  return absl::string_view(buffer_).substr(static_cast<size_t>(begin - first * kBlock),
                                           static_cast<size_t>(length));
}

}  // namespace sightline
