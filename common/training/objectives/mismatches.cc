#include "common/training/objectives/mismatches.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/training/draw_fitting.h"

namespace sightline {

absl::StatusOr<RowPair> DrawMismatch(int64_t row, const MismatchPool& pool, Random* random) {
  const bool wrong_text = random->Chance(pool.text_share);
  const auto fits = [&](int64_t other) { return other != row && !pool.related(row, other); };
  const absl::optional<int64_t> other = DrawFitting(pool.rows, fits, random);
  if (!other.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("row ", row, " is related to all ", pool.rows.size(),
                     " rows that a wrong pair could be made with"));
  }
  return wrong_text ? RowPair{*other, row} : RowPair{row, *other};
}

absl::StatusOr<std::vector<RowPair>> MatchedAndMismatched(absl::Span<const int64_t> rows,
                                                          const MismatchPool& pool, uint64_t seed,
                                                          uint64_t step) {
  std::vector<RowPair> pairs;
  for (const int64_t row : rows) {
    Random random(RowSeed(seed, RandomStream::kMismatches, step, row));
    ASSIGN_OR_RETURN(const RowPair wrong, DrawMismatch(row, pool, &random));
    pairs.push_back({row, row});
    pairs.push_back(wrong);
  }
  return pairs;
}

absl::StatusOr<std::vector<RowPair>> MatchedOrMismatched(absl::Span<const int64_t> rows,
                                                         const MismatchPool& pool,
                                                         double wrong_share, uint64_t seed,
                                                         uint64_t step) {
  std::vector<RowPair> pairs;
  for (const int64_t row : rows) {
    Random random(RowSeed(seed, RandomStream::kMismatches, step, row));
    RowPair pair = {row, row};
    if (random.Chance(wrong_share)) {
      ASSIGN_OR_RETURN(pair, DrawMismatch(row, pool, &random));
    }
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace sightline
