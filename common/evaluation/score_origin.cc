#include "common/evaluation/score_origin.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::StatusOr<absl::optional<std::string>> TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return absl::optional<std::string>();
  if (found->is_string()) return absl::optional<std::string>(found->get<std::string>());
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no text"));
}

}  // namespace

absl::StatusOr<ScoreOrigin> ParseScoreOrigin(absl::string_view text, const MatrixItems& items) {
  const Json json =
      Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("is no JSON object; remove it, or write the matrix anew");
  }
  ASSIGN_OR_RETURN(const absl::optional<std::string> digest, TextAt(json, "items"));
  if (digest.has_value() && *digest != ItemsDigest(items)) {
    return absl::InvalidArgumentError(
        "says that the matrix is of other pictures or captions than --pairs; give the file that "
        "was written with it");
  }
  ScoreOrigin origin;
  ASSIGN_OR_RETURN(const absl::optional<std::string> kind, TextAt(json, "score_kind"));
  if (kind.has_value()) {
    ASSIGN_OR_RETURN(origin.kind, Within("\"score_kind\"", ParseScoreKind(*kind)));
  }
  return origin;
}

}  // namespace sightline
