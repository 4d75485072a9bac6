#include "common/evaluation/list_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/evaluation/json_lines.h"
#include "common/evaluation/protocol.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr int64_t kMaxItems = std::numeric_limits<int>::max();
constexpr size_t kMaxLanguageBytes = 64;
constexpr Direction kDirections[] = {Direction::kTextToImage, Direction::kImageToText};

Json MethodJson(const Method& method, const absl::optional<QueryTime>& time) {
  Json json = {{"depth", method.depth}};
  if (time.has_value()) json["seconds_per_query"] = time->seconds;
  if (time.has_value() && time->spread.has_value()) {
    json["query_seconds"] = TimeSpreadJson(*time->spread);
  }
  if (method.depth == 0) return json;
  json["combination"] = std::string(CombinationKindName(method.combination.kind));
  // As it was written: 0.1, not what a float makes of it.
  if (method.combination.kind != CombinationKind::kReplace) {
    json["lambda"] = Json::parse(absl::StrCat(method.combination.lambda));
  }
  return json;
}

absl::Status IsNo(const char* key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no ", what));
}

absl::StatusOr<int64_t> NumberAt(const nlohmann::json& object, const char* key, int64_t least,
                                 int64_t most) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_unsigned()) {
    const auto number = found->get<uint64_t>();
    if (number >= static_cast<uint64_t>(least) && number <= static_cast<uint64_t>(most)) {
      return static_cast<int64_t>(number);
    }
  }
  return IsNo(key, absl::StrCat("whole number from ", least, " to ", most));
}

absl::StatusOr<Method> ParseMethod(const nlohmann::json& json) {
  if (!json.is_object()) return IsNo("methods", "list of objects");
  Method method;
  ASSIGN_OR_RETURN(const int64_t depth, NumberAt(json, "depth", 0, limits::kMaxHits));
  method.depth = static_cast<int>(depth);
  if (method.depth == 0) return method;
  ASSIGN_OR_RETURN(const std::string kind, StringAt(json, "combination", limits::kMaxNameBytes));
  ASSIGN_OR_RETURN(method.combination.kind, ParseCombinationKind(kind));
  if (method.combination.kind == CombinationKind::kReplace) return method;
  const auto lambda = json.find("lambda");
  if (lambda == json.end() || !lambda->is_number()) return IsNo("lambda", "number");
  method.combination.lambda = lambda->get<float>();
  RETURN_IF_ERROR(Validate(method.combination));
  return method;
}

class Parser {
 public:
  absl::Status Take(const nlohmann::json& object) {
    return file_.methods.empty() ? TakeHead(object) : TakeQuery(object);
  }

  absl::StatusOr<ListFile> Finish() && {
    for (const Direction direction : kDirections) {
      if (!file_.of(direction).empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat("has no query of ", DirectionName(direction),
                                                     "; tables are of both directions"));
    }
    for (const ListedQuery& query : file_.of(Direction::kTextToImage)) {
      if (asking_images_.count(query.image) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("has a caption of image '", EscapeUnlessPrintable(query.image),
                       "' that asks, and not the image; every image with a caption is a query"));
    }
    return std::move(file_);
  }

 private:
  absl::Status TakeHead(const nlohmann::json& head) {
    ASSIGN_OR_RETURN(const int64_t version, NumberAt(head, "format_version", 0, kMaxItems));
    if (version != kVersion) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"format_version\" is ", version, ", not ", kVersion, "; measure anew"));
    }
    const auto live = head.find("live");
    if (live == head.end() || !live->is_boolean()) return IsNo("live", "truth value");
    file_.live = live->get<bool>();
    ASSIGN_OR_RETURN(file_.images, StringAt(head, "images", limits::kMaxNameBytes));
    ASSIGN_OR_RETURN(file_.captions, StringAt(head, "captions", limits::kMaxNameBytes));
    ASSIGN_OR_RETURN(file_.image_count, NumberAt(head, "image_count", 1, kMaxItems));
    ASSIGN_OR_RETURN(file_.caption_count, NumberAt(head, "caption_count", 1, kMaxItems));
    ASSIGN_OR_RETURN(file_.language, StringAt(head, "language", kMaxLanguageBytes));
    // It titles tables and stands in files that others read.
    const std::string printable = EscapeUnlessPrintable(file_.language);
    if (printable != file_.language) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"language\" is ", printable, ", which cannot be printed as it is"));
    }
    ASSIGN_OR_RETURN(const int64_t length,
                     NumberAt(head, "list_length", kMinListLength, limits::kMaxHits));
    file_.list_length = static_cast<int>(length);
    return TakeMethods(head);
  }

  absl::Status TakeMethods(const nlohmann::json& head) {
    const auto methods = head.find("methods");
    if (methods == head.end() || !methods->is_array() || methods->empty() ||
        methods->size() > kMaxListMethods) {
      return IsNo("methods", absl::StrCat("list of 1 to ", kMaxListMethods, " objects"));
    }
    std::vector<Method> parsed;
    std::vector<absl::optional<QueryTime>> times;
    for (const nlohmann::json& one : *methods) {
      ASSIGN_OR_RETURN(const Method method, ParseMethod(one));
      const auto same = [&method](const Method& other) { return SameMethod(method, other); };
      if (std::any_of(parsed.begin(), parsed.end(), same)) {
        return absl::InvalidArgumentError(absl::StrCat("\"methods\" has ", MethodText(method),
                                                       " at depth ", method.depth, " twice"));
      }
      parsed.push_back(method);
      ASSIGN_OR_RETURN(times.emplace_back(), ParseQueryTime(one));
    }
    if (parsed.front().depth != 0) return IsNo("methods", "list that begins with depth 0");
    file_.methods = std::move(parsed);
    file_.times = std::move(times);
    return absl::OkStatus();
  }

  absl::Status TakeQuery(const nlohmann::json& object) {
    ASSIGN_OR_RETURN(const std::string name, StringAt(object, "direction", limits::kMaxNameBytes));
    const auto* const direction =
        std::find_if(std::begin(kDirections), std::end(kDirections),
                     [&name](Direction one) { return DirectionName(one) == name; });
    if (direction == std::end(kDirections)) return IsNo("direction", "direction");
    ListedQuery query;
    ASSIGN_OR_RETURN(query.image, StringAt(object, "image", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(query.relevant, NumberAt(object, "relevant", 1, kMaxItems));
    const auto places = object.find("places");
    if (places == object.end() || !places->is_array() || places->size() != file_.methods.size()) {
      return IsNo("places", absl::StrCat("list of ", file_.methods.size(), ", one a method"));
    }
    for (const nlohmann::json& one : *places) {
      ASSIGN_OR_RETURN(query.places.emplace_back(), ParsePlaces(one, query.relevant));
    }
    if (*direction == Direction::kImageToText && !asking_images_.insert(query.image).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("image '", EscapeUnlessPrintable(query.image), "' asks twice"));
    }
    file_.of(*direction).push_back(std::move(query));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> ParsePlaces(const nlohmann::json& json, int64_t relevant) const {
    std::vector<int> places;
    const absl::Status wrong =
        IsNo("places", absl::StrCat("list of lists of rising whole numbers from 1 to ",
                                    file_.list_length, ", of at most \"relevant\" each"));
    if (!json.is_array() || static_cast<int64_t>(json.size()) > relevant) return wrong;
    for (const nlohmann::json& one : json) {
      const uint64_t least = places.empty() ? 1 : static_cast<uint64_t>(places.back()) + 1;
      if (!one.is_number_unsigned() || one.get<uint64_t>() < least ||
          one.get<uint64_t>() > static_cast<uint64_t>(file_.list_length)) {
        return wrong;
      }
      places.push_back(one.get<int>());
    }
    return places;
  }

  ListFile file_;
  std::unordered_set<std::string> asking_images_;
};

}  // namespace

std::string FormatListFile(const ListFile& file) {
  Json head = {{"format_version", kVersion},      {"live", file.live},
               {"images", file.images},           {"captions", file.captions},
               {"image_count", file.image_count}, {"caption_count", file.caption_count},
               {"language", file.language},       {"list_length", file.list_length},
               {"methods", Json::array()}};
  for (size_t m = 0; m < file.methods.size(); ++m) {
    head["methods"].push_back(MethodJson(file.methods[m], file.times[m]));
  }
  std::string text = absl::StrCat(head.dump(), "\n");
  for (const Direction direction : kDirections) {
    for (const ListedQuery& query : file.of(direction)) {
      const Json line = {{"direction", std::string(DirectionName(direction))},
                         {"image", query.image},
                         {"relevant", query.relevant},
                         {"places", query.places}};
      absl::StrAppend(&text, line.dump(), "\n");
    }
  }
  return text;
}

absl::StatusOr<ListFile> ParseListFile(absl::string_view text) {
  Parser parser;
  RETURN_IF_ERROR(
      ForEachJsonLine(text, [&parser](const nlohmann::json& line) { return parser.Take(line); }));
  return std::move(parser).Finish();
}

}  // namespace sightline
