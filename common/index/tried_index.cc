#include "common/index/tried_index.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>

#include "common/bundle/manifest.h"

namespace sightline {
namespace {

template <typename Message>
bool Parse(const nlohmann::json& json, Message* message) {
  return google::protobuf::util::JsonStringToMessage(json.dump(), message).ok();
}

double NumberOf(const nlohmann::json& json, const char* key) {
  const nlohmann::json value = json.value(key, nlohmann::json());
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace

nlohmann::ordered_json TriedJson(const TriedIndex& tried) {
  nlohmann::ordered_json efforts = nlohmann::ordered_json::array();
  for (const bundle::v1::EffortPoint& point : tried.efforts) {
    efforts.push_back(nlohmann::ordered_json::parse(ManifestJson(point)));
  }
  return {{"spec", nlohmann::ordered_json::parse(ManifestJson(tried.spec))},
          {"bytes_per_item", tried.bytes_per_item},
          {"build_seconds", tried.build_seconds},
          {"efforts", efforts},
          {"seconds", tried.seconds},
          {"verdict", tried.verdict}};
}

absl::optional<TriedIndex> TriedOf(const nlohmann::json& json) {
  if (!json.is_object()) return absl::nullopt;
  TriedIndex tried;
  const nlohmann::json efforts = json.value("efforts", nlohmann::json());
  if (!Parse(json.value("spec", nlohmann::json()), &tried.spec) || !efforts.is_array()) {
    return absl::nullopt;
  }
  for (const nlohmann::json& point : efforts) {
    if (!Parse(point, &tried.efforts.emplace_back())) return absl::nullopt;
  }
  tried.bytes_per_item = NumberOf(json, "bytes_per_item");
  tried.build_seconds = NumberOf(json, "build_seconds");
  tried.seconds = NumberOf(json, "seconds");
  const nlohmann::json verdict = json.value("verdict", nlohmann::json());
  if (verdict.is_string()) tried.verdict = verdict.get<std::string>();
  return tried;
}

}  // namespace sightline
