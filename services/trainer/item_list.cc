#include "services/trainer/item_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/base/clean_text.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

std::string Line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::string ItemJsonLines(absl::Span<const ListedItem> items) {
  std::string lines;
  for (const ListedItem& item : items) {
    nlohmann::ordered_json captions = nlohmann::ordered_json::array();
    for (const CorpusCaption& caption : item.captions) {
      captions.push_back({{"language", caption.language}, {"text", caption.text}});
    }
    lines += Line({{"item_id", item.item_id},
                   {"split", std::string(SplitName(item.split))},
                   {"group", item.group},
                   {"captions", std::move(captions)}});
  }
  return lines;
}

absl::StatusOr<std::vector<std::string>> ParseItemIds(absl::string_view lines) {
  std::vector<std::string> ids;
  RETURN_IF_ERROR(ForEachJsonLine(lines, [&ids](const nlohmann::json& object) -> absl::Status {
    ASSIGN_OR_RETURN(ids.emplace_back(), StringAt(object, "item_id", limits::kMaxItemIdBytes));
    return absl::OkStatus();
  }));
  return ids;
}

std::string SkippedJsonLines(std::vector<CorpusProblem> skipped) {
  std::sort(skipped.begin(), skipped.end(), [](const CorpusProblem& a, const CorpusProblem& b) {
    return std::tie(a.item_id, a.path, a.reason) < std::tie(b.item_id, b.path, b.reason);
  });
  std::string lines;
  for (const CorpusProblem& problem : skipped) {
    lines += Line({{"item_id", problem.item_id},
                   {"path", EscapeUnlessPrintable(problem.path)},
                   {"reason", problem.reason}});
  }
  return lines;
}

}  // namespace sightline
