#include "common/bundle/rerankers.h"

#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/bundle/layout.h"

namespace sightline {

std::vector<NamedReranker> RerankersOf(const bundle::v1::GenerationManifest& manifest) {
  if (manifest.reranker_model().empty()) return {};
  if (manifest.rerankers_size() == 0) return {{kDefaultReranker, manifest.reranker_model()}};
  std::vector<NamedReranker> rerankers;
  for (const bundle::v1::NamedReranker& reranker : manifest.rerankers()) {
    const bool is_default = reranker.model() == manifest.reranker_model();
    rerankers.insert(is_default ? rerankers.begin() : rerankers.end(),
                     {reranker.name(), reranker.model()});
  }
  return rerankers;
}

std::vector<std::string> ModelsOf(const bundle::v1::GenerationManifest& manifest) {
  std::set<std::string> models = {manifest.encoder_model()};
  for (NamedReranker& reranker : RerankersOf(manifest)) models.insert(std::move(reranker.model));
  return {models.begin(), models.end()};
}

void SetRerankers(absl::Span<const NamedReranker> rerankers,
                  bundle::v1::GenerationManifest* manifest) {
  manifest->clear_reranker_model();
  manifest->clear_rerankers();
  if (rerankers.empty()) return;
  manifest->set_reranker_model(rerankers.front().model);
  // What an older program can read as a whole stays as it was.
  if (rerankers.size() == 1 && rerankers.front().name == kDefaultReranker) return;
  for (const NamedReranker& reranker : rerankers) {
    bundle::v1::NamedReranker* const added = manifest->add_rerankers();
    added->set_name(reranker.name);
    added->set_model(reranker.model);
  }
}

absl::Status CheckRerankers(absl::Span<const NamedReranker> rerankers) {
  if (rerankers.size() > limits::kMaxRerankers) {
    return absl::InvalidArgumentError(absl::StrCat(
        rerankers.size(), " rerankers; a generation has at most ", limits::kMaxRerankers));
  }
  std::set<std::string> names, models;
  for (const NamedReranker& reranker : rerankers) {
    const std::string shown =
        absl::StrCat("reranker '", absl::CHexEscape(reranker.name.substr(0, 100)), "' ");
    if (!IsValidName(reranker.name, limits::kMaxRerankerNameLength)) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, "must be named with a-z, 0-9, _ and -, and a letter or digit first; ",
                       "at most ", limits::kMaxRerankerNameLength, " characters"));
    }
    if (!IsSha256Hex(reranker.model)) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, "has model '", absl::CHexEscape(reranker.model.substr(0, 100)),
                       "', which is not a bundle's id: 64 lower-case hex digits"));
    }
    if (!names.insert(reranker.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(shown, "is there twice"));
    }
    if (!models.insert(reranker.model).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, "has model ", reranker.model, ", which has another name already"));
    }
  }
  return absl::OkStatus();
}

std::string RerankersText(absl::Span<const NamedReranker> rerankers) {
  return absl::StrJoin(rerankers, ",", [](std::string* out, const NamedReranker& reranker) {
    if (reranker.name != kDefaultReranker) absl::StrAppend(out, reranker.name, "=");
    absl::StrAppend(out, reranker.model);
  });
}

absl::Status UnknownReranker(absl::string_view name, const std::vector<std::string>& known) {
  const std::string shown = absl::CHexEscape(name.substr(0, 100));
  const std::string message = absl::StrCat(
      "reranker '", shown, "' is none of this generation's, which has ",
      known.empty() ? "none" : absl::StrJoin(known, ", "), "; name one that it has, or none");
  return WithField(
      MakeError(reasons::kUnknownReranker, message, {{"field", "reranker"}, {"reranker", shown}}),
      "reranker");
}

}  // namespace sightline
