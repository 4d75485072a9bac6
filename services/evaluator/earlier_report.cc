#include "services/evaluator/earlier_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "services/evaluator/report.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::Status Lacks(const char* key, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no ", what));
}

absl::StatusOr<std::string> TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return Lacks(key, "text");
  return found->get<std::string>();
}

absl::StatusOr<const Json*> ListAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return Lacks(key, "list");
  return &*found;
}

absl::StatusOr<int64_t> CountAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return Lacks(key, "count");
  return found->get<int64_t>();
}

absl::StatusOr<std::vector<int>> RanksOf(const Json& method, int64_t count) {
  if (!method.contains("ranks")) {
    return absl::InvalidArgumentError(
        "there are no \"ranks\": the file is from before they were kept; measure anew");
  }
  ASSIGN_OR_RETURN(const Json* const list, ListAt(method, "ranks"));
  std::vector<int> ranks;
  ranks.reserve(list->size());
  for (const Json& rank : *list) {
    if (!rank.is_number_unsigned() || rank.get<uint64_t>() > kListLength) {
      return Lacks("ranks", "list of ranks from 0 to 50");
    }
    ranks.push_back(rank.get<int>());
  }
  if (static_cast<int64_t>(ranks.size()) == count) return ranks;
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", ranks.size(), " \"ranks\" of ", count, " queries"));
}

absl::StatusOr<EarlierMethod> ParseMethod(const Json& json, int64_t count) {
  if (!json.is_object()) return Lacks("methods", "list of objects");
  EarlierMethod method;
  ASSIGN_OR_RETURN(method.name, TextAt(json, "name"));
  ASSIGN_OR_RETURN(method.depth, CountAt(json, "depth"));
  const auto declared = json.find("declared");
  method.declared = declared != json.end() && *declared == true;
  ASSIGN_OR_RETURN(method.ranks, Within(method.name, RanksOf(json, count)));
  return method;
}

absl::StatusOr<EarlierResults> ParseResults(const Json& json) {
  if (!json.is_object()) return Lacks("results", "list of objects");
  EarlierResults results;
  ASSIGN_OR_RETURN(results.direction, TextAt(json, "direction"));
  ASSIGN_OR_RETURN(results.split, TextAt(json, "split"));
  ASSIGN_OR_RETURN(const int64_t count, CountAt(json, "query_count"));
  ASSIGN_OR_RETURN(const Json* const methods, ListAt(json, "methods"));
  for (const Json& one : *methods) {
    ASSIGN_OR_RETURN(EarlierMethod method, ParseMethod(one, count));
    results.methods.push_back(std::move(method));
  }
  ASSIGN_OR_RETURN(results.queries_sha256, TextAt(json, "queries_sha256"));
  return results;
}

const EarlierMethod* Counterpart(const EarlierResults& earlier, const MethodResult& result,
                                 bool declared) {
  const auto at = [&](const auto& is_it) -> const EarlierMethod* {
    const auto found = std::find_if(earlier.methods.begin(), earlier.methods.end(), is_it);
    return found == earlier.methods.end() ? nullptr : &*found;
  };
  const int64_t depth = result.method.depth;
  if (declared) {
    const EarlierMethod* const then =
        at([&](const EarlierMethod& one) { return one.declared && one.depth == depth; });
    if (then != nullptr) return then;
  }
  const std::string name = MethodText(result.method);
  return at([&](const EarlierMethod& one) { return one.name == name && one.depth == depth; });
}

}  // namespace

absl::StatusOr<std::vector<EarlierResults>> ParseEarlierReport(absl::string_view text) {
  const Json json =
      Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  ASSIGN_OR_RETURN(const Json* const list, ListAt(json, "results"));
  std::vector<EarlierResults> all;
  for (const Json& one : *list) {
    ASSIGN_OR_RETURN(EarlierResults results,
                     Within(absl::StrCat("results[", all.size(), "]"), ParseResults(one)));
    all.push_back(std::move(results));
  }
  return all;
}

absl::StatusOr<const EarlierResults*> FindEarlier(absl::Span<const EarlierResults> earlier,
                                                  const MeasureSpec& spec) {
  const std::string split = SplitText(spec.split);
  const absl::string_view direction = DirectionName(spec.direction);
  const auto found = std::find_if(earlier.begin(), earlier.end(), [&](const EarlierResults& one) {
    return one.direction == direction && one.split == split;
  });
  if (found == earlier.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing is told of ", direction, ", ", split,
                     "; leave that out with --direction or --split, or measure it there too"));
  }
  if (found->queries_sha256 != QueriesSha256(spec.queries)) {
    return absl::FailedPreconditionError(absl::StrCat(
        direction, ", ", split,
        ": other queries were asked; --splits, --limit, --captions, --language and the corpus have "
        "to be what they were then"));
  }
  return &*found;
}

void HoldAgainst(const EarlierResults& earlier, const MeasureSpec& spec,
                 const absl::optional<DeclaredCombination>& declared, ComputePool* pool,
                 Measurement* measurement) {
  for (MethodResult& result : measurement->results) {
    const EarlierMethod* const then =
        Counterpart(earlier, result, IsDeclared(result.method, declared));
    if (then == nullptr) continue;
    result.over_earlier =
        GainsOver(then->ranks, {result.ranks}, spec.queries, spec.bootstrap, pool)[0];
  }
}

}  // namespace sightline
