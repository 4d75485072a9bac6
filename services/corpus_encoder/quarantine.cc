#include "services/corpus_encoder/quarantine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/log/log.h"

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

absl::Status CheckSomeAreGood(absl::string_view what, const std::vector<QuarantineEntry>& entries,
                              int64_t item_count) {
  if (static_cast<int64_t>(entries.size()) < item_count) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("all ", item_count, " ", what,
                                                    " are bad; the first: ", entries[0].item_id,
                                                    ": ", entries[0].reason));
}

void LogWarnings(const std::vector<CorpusProblem>& warnings) {
  constexpr size_t kMostLogged = 20;
  for (size_t i = 0; i < std::min(kMostLogged, warnings.size()); ++i) {
    Log(Severity::kWarning, "item is not as it should be",
        {{"item_id", warnings[i].item_id},
         {"path", warnings[i].path},
         {"reason", warnings[i].reason}});
  }
  if (warnings.size() > kMostLogged) {
    Log(Severity::kWarning, "more items are not as they should be",
        {{"count", warnings.size() - kMostLogged}});
  }
}

}  // namespace sightline
