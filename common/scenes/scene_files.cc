#include "common/scenes/scene_files.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

std::string NounName(int noun) {
  return std::string(Nouns()[noun].id);
}

template <typename Named>
Json NameOrNull(const absl::optional<Named>& value) {
  return value ? Json(std::string(Name(*value))) : Json();
}

Json BoxJson(const SceneBox& box) {
  return {box.x, box.y, box.width, box.height};
}

Json FactsJson(const std::vector<SceneFact>& facts) {
  Json json = Json::array();
  for (const SceneFact& fact : facts) {
    json.push_back({fact.subject, std::string(Name(fact.relation)), fact.object});
  }
  return json;
}

Json ObjectJson(const SceneObject& object) {
  Json copies = Json::array();
  for (const SceneBox& copy : object.copies) copies.push_back(BoxJson(copy));
  return {{"noun", NounName(object.noun)},
          {"drawing", object.drawing},
          {"tint", std::string(Name(object.tint))},
          {"size", std::string(Name(object.size))},
          {"count", object.count},
          {"box", BoxJson(object.box)},
          {"copies", std::move(copies)},
          {"layer", object.layer}};
}

Json ClaimJson(const SceneClaim& claim) {
  Json objects = Json::array();
  for (const ObjectClaim& object : claim.objects) {
    objects.push_back({{"noun", NounName(object.noun)},
                       {"count", object.count},
                       {"counted", object.counted},
                       {"tint", NameOrNull(object.tint)},
                       {"size", NameOrNull(object.size)}});
  }
  return {{"objects", std::move(objects)},
          {"relations", FactsJson(claim.relations)},
          {"word", claim.word.empty() ? Json() : Json(claim.word)}};
}

Json CaptionJson(const SceneCaption& caption) {
  Json json = {{"claim", ClaimJson(caption.claim)}, {"frame", static_cast<int>(caption.frame)}};
  for (const absl::string_view language : CaptionLanguages()) {
    json[std::string(language)] = Say(language, caption.claim, caption.frame);
  }
  return json;
}

Json WordJson(const SceneWord& word) {
  if (word.text.empty()) return {};
  return {{"text", word.text}, {"box", BoxJson(word.box)}};
}

Json BaseJson(const ScenePicture& picture) {
  if (picture.base < 0) return {};
  const std::string& id = picture.id;
  return SceneId(id.substr(0, id.find('/')), picture.base);
}

absl::Status Remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError("remove", path, errno);
}

// What was made of a split whose pictures were not those of `lines`.
absl::Status RemoveStale(absl::string_view directory, SceneSplit split, const std::string& lines) {
  const std::string path = JoinPath(directory, absl::StrCat(Name(split), ".jsonl"));
  if (FileExists(path)) {
    ASSIGN_OR_RETURN(const std::string before, ReadFile(path));
    if (before == lines) return absl::OkStatus();
  }
  for (const bool boxed : {false, true}) {
    RETURN_IF_ERROR(Remove(JoinPath(directory, SceneRegionFile(split, boxed))));
  }
  const std::string painted = JoinPath(directory, Name(split));
  if (!FileExists(painted)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(painted));
  for (const std::string& name : names) {
    // Whatever else somebody has put there stays.
    if (absl::EndsWith(name, ".png") || name == kPaintedCaptions) {
      RETURN_IF_ERROR(Remove(JoinPath(painted, name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string SceneRegionFile(SceneSplit split, bool boxed) {
  return absl::StrCat(Name(split), boxed ? ".boxed" : "", ".regions");
}

std::string SceneLine(const ScenePicture& picture) {
  Json slices = Json::array(), objects = Json::array(), captions = Json::array();
  for (const absl::string_view slice : SlicesOf(picture)) slices.push_back(std::string(slice));
  for (const SceneObject& object : picture.graph.objects) objects.push_back(ObjectJson(object));
  for (const SceneCaption& caption : picture.captions) captions.push_back(CaptionJson(caption));
  const Json json = {{"id", picture.id},
                     {"base", BaseJson(picture)},
                     {"change", std::string(Name(picture.change))},
                     {"kind", std::string(Name(picture.kind))},
                     {"slices", std::move(slices)},
                     {"objects", std::move(objects)},
                     {"facts", FactsJson(FactsOf(picture.graph))},
                     {"word", WordJson(picture.graph.word)},
                     {"captions", std::move(captions)}};
  return json.dump() + "\n";
}

absl::StatusOr<std::string> WriteScenes(const SceneSet& set, absl::string_view directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  std::string sums;
  for (int split = 0; split < kSceneSplits; ++split) {
    const std::string name = absl::StrCat(Name(static_cast<SceneSplit>(split)), ".jsonl");
    std::string lines;
    for (const ScenePicture& picture : set[split]) lines += SceneLine(picture);
    RETURN_IF_ERROR(RemoveStale(directory, static_cast<SceneSplit>(split), lines));
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, name), lines));
    absl::StrAppend(&sums, Sha256Hex(lines), "  ", name, "\n");
  }
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kSceneSums), sums));
  return sums;
}

}  // namespace sightline
