#include "services/corpus_encoder/quarantine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sightline {

namespace {

std::string JsonLine(const std::string& item_id, const std::string& path,
                     const std::string& reason) {
  const nlohmann::ordered_json line = {{"item_id", item_id}, {"path", path}, {"reason", reason}};
  return absl::StrCat(
      line.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace), "\n");
}

}  // namespace

std::string QuarantineJsonLines(std::vector<QuarantineEntry> entries) {
  std::sort(entries.begin(), entries.end(), [](const QuarantineEntry& a, const QuarantineEntry& b) {
    return std::tie(a.item_id, a.path, a.reason) < std::tie(b.item_id, b.path, b.reason);
  });
  std::string lines;
  for (const QuarantineEntry& entry : entries) {
    lines += JsonLine(entry.item_id, entry.path, entry.reason);
  }
  return lines;
}

std::string ProblemJsonLines(const std::vector<CorpusProblem>& problems) {
  std::string lines;
  for (const CorpusProblem& problem : problems) {
    lines += JsonLine(problem.item_id, problem.path, problem.reason);
  }
  return lines;
}

absl::Status CheckQuarantineShare(absl::string_view what,
                                  const std::vector<QuarantineEntry>& entries, int64_t item_count,
                                  double max_share) {
  constexpr size_t kShown = 3;
  if (static_cast<double>(entries.size()) <= max_share * static_cast<double>(item_count)) {
    return absl::OkStatus();
  }
  std::string first;
  for (size_t i = 0; i < std::min(kShown, entries.size()); ++i) {
    absl::StrAppend(&first, i == 0 ? "" : "; ", entries[i].item_id, ": ", entries[i].reason);
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "%d of %d %s are bad, more than limits.max_quarantine_share (%g) allows; the first: %s",
      entries.size(), item_count, what, max_share, first));
}

}  // namespace sightline
