#include "services/evaluator/earlier_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "services/evaluator/report.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::Status IsNo(const char* key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no ", what));
}

absl::StatusOr<std::string> TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return IsNo(key, "text");
  return found->get<std::string>();
}

absl::StatusOr<const Json*> ListAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return IsNo(key, "list");
  return &*found;
}

absl::StatusOr<int64_t> CountAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return IsNo(key, "count");
  const auto count = found->get<uint64_t>();
  if (count > uint64_t{1} << 40) return IsNo(key, "count");
  return static_cast<int64_t>(count);
}

absl::StatusOr<std::vector<int>> RanksOf(const Json& method, int64_t count, int list_length) {
  ASSIGN_OR_RETURN(const std::string text, TextAt(method, "ranks"));
  std::vector<int> ranks;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    int rank = -1;
    if (!absl::SimpleAtoi(word, &rank) || rank < 0 || rank > list_length) {
      return IsNo("ranks", absl::StrCat("list of ranks from 0 to ", list_length));
    }
    ranks.push_back(rank);
  }
  if (static_cast<int64_t>(ranks.size()) == count) return ranks;
  return absl::InvalidArgumentError(
      absl::StrCat("\"ranks\" has ", ranks.size(), " of ", count, " queries"));
}

absl::StatusOr<EarlierMethod> ParseMethod(const Json& json, int64_t count, int list_length) {
  if (!json.is_object()) return IsNo("methods", "list of objects");
  EarlierMethod method;
  ASSIGN_OR_RETURN(method.name, TextAt(json, "name"));
  ASSIGN_OR_RETURN(method.depth, CountAt(json, "depth"));
  const auto declared = json.find("declared");
  if (declared == json.end() || !declared->is_boolean()) return IsNo("declared", "true or false");
  method.declared = declared->get<bool>();
  ASSIGN_OR_RETURN(method.ranks, Within(method.name, RanksOf(json, count, list_length)));
  return method;
}

const EarlierMethod* Find(const EarlierResults& earlier, absl::string_view name, int64_t depth) {
  for (const EarlierMethod& method : earlier.methods) {
    if (method.name == name && method.depth == depth) return &method;
  }
  return nullptr;
}

absl::StatusOr<EarlierResults> ParseResults(const Json& json, int list_length) {
  if (!json.is_object()) return IsNo("results", "list of objects");
  EarlierResults results;
  ASSIGN_OR_RETURN(results.direction, TextAt(json, "direction"));
  ASSIGN_OR_RETURN(results.split, TextAt(json, "split"));
  ASSIGN_OR_RETURN(results.query_count, CountAt(json, "query_count"));
  ASSIGN_OR_RETURN(results.queries_sha256, TextAt(json, "queries_sha256"));
  ASSIGN_OR_RETURN(results.pool_size, CountAt(json, "pool_size"));
  ASSIGN_OR_RETURN(const Json* const methods, ListAt(json, "methods"));
  for (const Json& one : *methods) {
    ASSIGN_OR_RETURN(EarlierMethod method, ParseMethod(one, results.query_count, list_length));
    if (Find(results, method.name, method.depth) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(method.name, " at depth ", method.depth, " stands there twice"));
    }
    results.methods.push_back(std::move(method));
  }
  return results;
}

const EarlierResults* Find(const EarlierReport& earlier, absl::string_view direction,
                           absl::string_view split) {
  for (const EarlierResults& results : earlier.results) {
    if (results.direction == direction && results.split == split) return &results;
  }
  return nullptr;
}

// What was served then where a request did not say: at the depth, or retrieval alone.
const EarlierMethod* DeclaredThen(const EarlierResults& earlier, int64_t depth) {
  const EarlierMethod* declared = nullptr;
  for (const EarlierMethod& method : earlier.methods) {
    if (!method.declared) continue;
    if (method.depth == depth) return &method;
    if (declared == nullptr) declared = &method;
  }
  return declared;
}

// Of what to print: one of `measurement`'s methods over one of then.
struct Pair {
  MethodResult* now;
  const EarlierMethod* then;
};

std::vector<Pair> PairsOf(const EarlierResults& earlier,
                          const absl::optional<DeclaredCombination>& declared,
                          Measurement* measurement) {
  std::vector<Pair> pairs;
  for (MethodResult& result : measurement->results) {
    const int64_t depth = result.method.depth;
    const EarlierMethod* const itself = Find(earlier, MethodText(result.method), depth);
    if (itself != nullptr) pairs.push_back({&result, itself});
    if (!IsDeclared(result.method, declared)) continue;
    const EarlierMethod* const served = DeclaredThen(earlier, depth);
    if (served != nullptr && served != itself) pairs.push_back({&result, served});
  }
  return pairs;
}

}  // namespace

absl::StatusOr<EarlierReport> ParseEarlierReport(absl::string_view text) {
  const Json json =
      Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  ASSIGN_OR_RETURN(const int64_t version, CountAt(json, "format_version"));
  if (version != kReportVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"format_version\" is ", version, ", not ", kReportVersion,
                     "; measure anew with the program that is to read it"));
  }
  const auto settings = json.find("settings");
  if (settings == json.end() || !settings->is_object()) return IsNo("settings", "object");
  EarlierReport report;
  ASSIGN_OR_RETURN(report.captions, TextAt(*settings, "captions"));
  ASSIGN_OR_RETURN(report.language, TextAt(*settings, "language"));
  ASSIGN_OR_RETURN(const int64_t length, CountAt(*settings, "list_length"));
  report.list_length = static_cast<int>(std::min<int64_t>(length, limits::kMaxHits));
  ASSIGN_OR_RETURN(const Json* const list, ListAt(json, "results"));
  for (const Json& one : *list) {
    ASSIGN_OR_RETURN(EarlierResults results,
                     Within(absl::StrCat("results[", report.results.size(), "]"),
                            ParseResults(one, report.list_length)));
    if (Find(report, results.direction, results.split) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(results.direction, ", ", results.split, " stands there twice"));
    }
    report.results.push_back(std::move(results));
  }
  return report;
}

absl::StatusOr<const EarlierResults*> FindEarlier(const EarlierReport& earlier,
                                                  const MeasureSpec& spec, int64_t pool_size,
                                                  absl::string_view captions,
                                                  absl::string_view language) {
  const std::string split = SplitText(spec.split);
  const absl::string_view direction = DirectionName(spec.direction);
  const EarlierResults* const found = Find(earlier, direction, split);
  const std::string asked = absl::StrCat(direction, ", ", split);
  if (found == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing is told of ", asked,
                     "; leave that out with --direction or --split, or measure it there too"));
  }
  const auto differs = [&asked](absl::string_view what, const auto& then, const auto& now) {
    return absl::FailedPreconditionError(absl::StrCat(
        asked, ": ", what, " then ", then, " and now ", now, "; only what is the same compares"));
  };
  if (earlier.captions != captions) return differs("--captions was", earlier.captions, captions);
  if (earlier.list_length != spec.list_length) {
    return differs("--list-length was", earlier.list_length, spec.list_length);
  }
  if (earlier.language != language) return differs("--language was", earlier.language, language);
  if (found->pool_size != pool_size) {
    return differs("items to be found were", found->pool_size, pool_size);
  }
  const auto count = static_cast<int64_t>(spec.queries.size());
  if (found->query_count != count) return differs("queries were", found->query_count, count);
  if (found->queries_sha256 == QueriesSha256(spec.queries)) return found;
  return absl::FailedPreconditionError(absl::StrCat(
      asked,
      ": other queries were asked, or other answers were right; --splits, --limit and the "
      "corpus have to be what they were then"));
}

void HoldAgainst(const EarlierResults& earlier, const MeasureSpec& spec,
                 const absl::optional<DeclaredCombination>& declared, ComputePool* pool,
                 Measurement* measurement) {
  const std::vector<Pair> pairs = PairsOf(earlier, declared, measurement);
  std::vector<RankPair> ranks;
  for (const Pair& pair : pairs) ranks.push_back({pair.now->ranks, pair.then->ranks});
  const std::vector<Gain> gains = GainsOf(ranks, spec.queries, spec.bootstrap, pool);
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].now->over_earlier.push_back({pairs[i].then->name, pairs[i].then->depth, gains[i]});
  }
}

}  // namespace sightline
