#include "common/evaluation/score_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kMaxNameLength = 64;

// Adds the scores of one member.
void Add(const ScoreMatrix& matrix, Direction direction, absl::Span<const int> queries,
         absl::Span<const int> candidates, absl::Span<float> scores) {
  const bool by_row = direction == Direction::kImageToText;
  const size_t width = candidates.size();
  const auto add = [&](size_t q, size_t c) {
    scores[q * width + c] +=
        by_row ? matrix.at(queries[q], candidates[c]) : matrix.at(candidates[c], queries[q]);
  };
  // In the order in which they lie, since neighbours share a cache line.
  const int64_t along_candidates = by_row ? matrix.column_stride() : matrix.row_stride();
  if (along_candidates == 1) {
    for (size_t q = 0; q < queries.size(); ++q) {
      for (size_t c = 0; c < width; ++c) add(q, c);
    }
  } else {
    for (size_t c = 0; c < width; ++c) {
      for (size_t q = 0; q < queries.size(); ++q) add(q, c);
    }
  }
}

}  // namespace

absl::Status CheckScoresName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kMaxNameLength &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                             c == '-' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no name of scores; it has 1 to ",
                                                 kMaxNameLength,
                                                 " letters, digits, '_', '-' and '.'"));
}

absl::StatusOr<NamedScores> NamedScores::Create(std::string name,
                                                std::vector<ScoreMatrix> members) {
  RETURN_IF_ERROR(CheckScoresName(name));
  if (members.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' has no matrix"));
  }
  for (const ScoreMatrix& member : members) {
    if (member.rows() == members[0].rows() && member.columns() == members[0].columns()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is a mean of matrices of ", members[0].rows(), " x ",
                     members[0].columns(), " and ", member.rows(), " x ", member.columns(),
                     "; all must have the same images and captions in the same order"));
  }
  NamedScores scores;
  scores.name_ = std::move(name);
  scores.members_ = std::move(members);
  return scores;
}

float NamedScores::at(int64_t image, int64_t caption) const {
  float sum = 0;
  for (const ScoreMatrix& member : members_) sum += member.at(image, caption);
  return sum / static_cast<float>(members_.size());
}

absl::Status NamedScores::Gather(Direction direction, absl::Span<const int> queries,
                                 absl::Span<const int> candidates, absl::Span<float> scores) const {
  std::fill(scores.begin(), scores.end(), 0.0f);
  for (const ScoreMatrix& member : members_) Add(member, direction, queries, candidates, scores);
  const auto count = static_cast<float>(members_.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] /= count;
    if (!std::isnan(scores[i])) continue;
    const int query = queries[i / candidates.size()];
    const int candidate = candidates[i % candidates.size()];
    const bool by_row = direction == Direction::kImageToText;
    return absl::InvalidArgumentError(
        absl::StrCat("'", name_, "' is no number at row ", by_row ? query : candidate, ", column ",
                     by_row ? candidate : query,
                     " (from 0); of a matrix behind --candidates it is "
                     "B of a policy A:B"));
  }
  return absl::OkStatus();
}

}  // namespace sightline
