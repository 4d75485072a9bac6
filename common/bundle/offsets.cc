#include "common/bundle/offsets.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/little_endian.h"

namespace sightline {

absl::StatusOr<Offsets> Offsets::Open(const Container& container, absl::string_view name,
                                      int64_t count, int64_t limit) {
  Offsets offsets;
  ASSIGN_OR_RETURN(offsets.section_, container.Require(name, Dtype::kInt64, 1));
  if (offsets.section_->shape[0] - 1 != count) {
    return absl::DataLossError(absl::StrCat(container.path(), ": section ", name, " has ",
                                            offsets.section_->shape[0], " offsets for ", count,
                                            " items"));
  }
  ASSIGN_OR_RETURN(offsets.bytes_, container.Load(*offsets.section_, CallContext::Unbounded()));
  offsets.file_ = container.path();
  offsets.count_ = count;
  offsets.limit_ = limit;
  return offsets;
}

int64_t Offsets::Value(int64_t i) const {
  return LoadLittleEndian<int64_t>(bytes_.data() + i * static_cast<int64_t>(sizeof(int64_t)));
}

absl::Status Offsets::Lying(int64_t i) const {
  return absl::DataLossError(absl::StrCat(file_, ": section ", section_->name, " says that item ",
                                          i, " takes [", Value(i), ", ", Value(i + 1), ") of ",
                                          limit_));
}

absl::StatusOr<Offsets::Range> Offsets::At(int64_t i) const {
  const Range range{Value(i), Value(i + 1)};
  if (range.begin < 0 || range.begin > range.end || range.end > limit_) return Lying(i);
  return range;
}

absl::Status Offsets::CheckAll(const CallContext& call) const {
  constexpr int64_t kBetweenChecks = int64_t{1} << 16;
  int64_t end = 0;
  for (int64_t i = 0; i < count_; ++i) {
    if (i % kBetweenChecks == 0) RETURN_IF_ERROR(call.Check("verify offsets"));
    ASSIGN_OR_RETURN(const Range range, At(i));
    if (range.begin != end) return Lying(i);
    end = range.end;
  }
  if (end == limit_ && (count_ > 0 || Value(0) == 0)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file_, ": section ", section_->name, " ends at ", end, " of ", limit_));
}

}  // namespace sightline
