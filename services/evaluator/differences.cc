#include "services/evaluator/differences.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

bool Same(const Hit& a, const Hit& b) {
  return a.item_id == b.item_id && a.stage == b.stage && a.score == b.score &&
         a.retrieval_score == b.retrieval_score && a.rerank_score == b.rerank_score;
}

// Null where a list has ended.
Json HitJson(absl::Span<const Hit> hits, size_t place) {
  if (place >= hits.size()) return nullptr;
  const Hit& hit = hits[place];
  Json json = {
      {"item", hit.item_id}, {"score", hit.score}, {"retrieval_score", hit.retrieval_score}};
  if (hit.rerank_score.has_value()) json["rerank_score"] = *hit.rerank_score;
  return json;
}

std::string Kind(const Agreement& agreement) {
  if (!agreement.agrees()) return "different";
  if (agreement.boundary_lists > 0) return "depth";
  return agreement.tied_lists > 0 ? "tied" : "rounded";
}

}  // namespace

std::string DifferenceLine(const ComparedLists& lists) {
  Json places = Json::array();
  for (size_t i = 0; i < std::max(lists.expected.size(), lists.actual.size()); ++i) {
    const bool both = i < lists.expected.size() && i < lists.actual.size();
    if (both && Same(lists.expected[i], lists.actual[i])) continue;
    places.push_back({{"place", i + 1},
                      {"computed", HitJson(lists.expected, i)},
                      {"answered", HitJson(lists.actual, i)}});
  }
  if (places.empty()) return "";
  Json line = {{"direction", std::string(DirectionName(lists.direction))},
               {"image", lists.query.item_id},
               {"caption", lists.query.text},
               {"lists", Kind(lists.agreement)}};
  if (!lists.agreement.agrees()) line["problem"] = lists.agreement.first_problem;
  line["places"] = std::move(places);
  return absl::StrCat(line.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace sightline
