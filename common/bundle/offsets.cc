#include "common/bundle/offsets.h"

#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr auto kBytes = static_cast<int64_t>(sizeof(int64_t));  // of an offset

}  // namespace

absl::StatusOr<OffsetsSection> OffsetsSection::Find(const Container& container,
                                                    absl::string_view name, int64_t count,
                                                    int64_t limit) {
  OffsetsSection found;
  ASSIGN_OR_RETURN(found.section_, container.Require(name, Dtype::kInt64, 1));
  if (found.section_->shape[0] - 1 != count) {
    return absl::DataLossError(absl::StrCat(container.path(), ": section ", name, " has ",
                                            found.section_->shape[0], " offsets for ", count,
                                            " items"));
  }
  found.container_ = &container;
  found.count_ = count;
  found.limit_ = limit;
  return found;
}

absl::Status OffsetsSection::Lying(int64_t i, Range range) const {
  return absl::DataLossError(absl::StrCat(container_->path(), ": section ", section_->name,
                                          " says that item ", i, " takes [", range.begin, ", ",
                                          range.end, ") of ", limit_));
}

absl::StatusOr<OffsetsSection::Range> OffsetsSection::RangeAt(int64_t i,
                                                              const char* offsets) const {
  const Range range{LoadLittleEndian<int64_t>(offsets),
                    LoadLittleEndian<int64_t>(offsets + kBytes)};
  if (range.begin < 0 || range.begin > range.end || range.end > limit_) return Lying(i, range);
  return range;
}

absl::StatusOr<Offsets> Offsets::Open(const Container& container, absl::string_view name,
                                      int64_t count, int64_t limit) {
  ASSIGN_OR_RETURN(const OffsetsSection described,
                   OffsetsSection::Find(container, name, count, limit));
  return Load(described);
}

absl::StatusOr<Offsets> Offsets::Load(const OffsetsSection& described) {
  Offsets offsets;
  offsets.described_ = described;
  ASSIGN_OR_RETURN(offsets.bytes_,
                   described.container().Load(described.section(), CallContext::Unbounded()));
  return offsets;
}

absl::StatusOr<Offsets::Range> Offsets::At(int64_t i) const {
  return described_.RangeAt(i, bytes_.data() + i * kBytes);
}

absl::Status Offsets::CheckAll(const CallContext& call) const {
  return OffsetReader(described_, &bytes_).CheckAll(call);
}

absl::StatusOr<OffsetsSection::Range> OffsetReader::At(int64_t i) {
  ASSIGN_OR_RETURN(const absl::string_view offsets, offsets_.View(i * kBytes, 2 * kBytes));
  return described_.RangeAt(i, offsets.data());
}

absl::Status OffsetReader::CheckAll(const CallContext& call) {
  constexpr int64_t kBetweenChecks = int64_t{1} << 16;
  ASSIGN_OR_RETURN(const absl::string_view first, offsets_.View(0, kBytes));
  bool sound = LoadLittleEndian<int64_t>(first.data()) == 0;
  int64_t end = 0;
  for (int64_t i = 0; i < described_.count(); ++i) {
    if (i % kBetweenChecks == 0) RETURN_IF_ERROR(call.Check("verify offsets"));
    ASSIGN_OR_RETURN(const OffsetsSection::Range range, At(i));
    if (range.begin != end) return described_.Lying(i, range);
    end = range.end;
  }
  sound = sound && end == described_.limit();
  if (sound) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(described_.container().path(), ": section ",
                                          described_.section().name, " ends at ", end, " of ",
                                          described_.limit()));
}

}  // namespace sightline
