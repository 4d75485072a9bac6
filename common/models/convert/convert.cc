#include "common/models/convert/convert.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/bundle_tokenizer.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

struct Converter {
  absl::string_view family;
  const FamilyConversion* conversion;
};

constexpr Converter kConverters[] = {
#define SIGHTLINE_FAMILY(name) {#name, &name::kConversion},
#include "common/models/converted_families.inc"
#undef SIGHTLINE_FAMILY
};

std::string KnownFamilies() {
  return absl::StrJoin(ConvertedFamilies(), ", ");
}

absl::Status UnlikeAny(const NamedTensors& tensors) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const auto& [name, view] : tensors) {
    if (names.size() < kMostNamed) names.push_back(absl::CHexEscape(name.substr(0, 100)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no family has tensors like these ", tensors.size(), " (",
                   absl::StrJoin(names, ", "), ", ...); if it is one of ", KnownFamilies(),
                   ", give --family NAME to be told what is missing"));
}

// Whose tensors they are, where nobody has said it.
absl::StatusOr<const Converter*> Recognize(const Checkpoint& source,
                                           const ConvertOptions& options) {
  const Converter* found = nullptr;
  for (const Converter& converter : kConverters) {
    ASSIGN_OR_RETURN(const bool is_its, converter.conversion->recognizes(source, options));
    if (!is_its) continue;
    if (found != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the tensors may be those of ", found->family,
                                                     " and of ", converter.family,
                                                     "; give --family with the one that it is"));
    }
    found = &converter;
  }
  if (found == nullptr) return UnlikeAny(source.tensors());
  return found;
}

absl::StatusOr<const Converter*> FindConverter(const Checkpoint& source,
                                               const ConvertOptions& options) {
  if (options.family.empty()) return Recognize(source, options);
  for (const Converter& converter : kConverters) {
    if (converter.family == options.family) return &converter;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no family '", options.family,
                                                 "' to convert to; there are: ", KnownFamilies()));
}

// Options that mean nothing to a family are refused, not ignored.
absl::Status CheckOptions(const Converter& converter, const ConvertOptions& options) {
  const auto has = [&](FamilyOption option) {
    return (converter.conversion->options & option) != 0;
  };
  const bool reads_scenes = options.scene_text && has(kSceneTextOptions);
  const struct {
    absl::string_view flag;
    bool given, fits;
  } uses[] = {
      {"--scene-text", options.scene_text, has(kSceneTextOptions)},
      {"--ocr-tokens without --scene-text", options.scene_token_count.has_value(), reads_scenes},
      {"--ocr-position without --scene-text", options.scene_position.has_value(), reads_scenes},
      {"--ocr-type without --scene-text", options.scene_token_type.has_value(), reads_scenes},
      {"--lone-separator without --scene-text", options.lone_separator, reads_scenes},
      {"--confidence-floor", options.confidence_floor.has_value(), has(kRegionRuleOptions)},
      {"--min-regions", options.min_region_count.has_value(), has(kRegionRuleOptions)},
      {"--min-regions beside a floor of 0, where all are read",
       options.min_region_count.has_value(), options.confidence_floor != 0.0},
      {"--use", !options.use.empty(), has(kUseOption)},
      {"--score-kind: it is no cross-encoder", !options.score_kind.empty(), has(kScoreKindOption)},
      {"--tag-tokens", options.tag_token_count.has_value(), has(kTagTokensOption)},
      {"--tag-padding-type", options.tag_padding_type.has_value(), has(kTagPaddingOption)},
      {"--cells", options.cell_count.has_value(), has(kCellsOption)},
      {"--heads", options.head_count.has_value(), has(kHeadsOption)},
  };
  for (const auto& use : uses) {
    if (!use.given || use.fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("family ", converter.family, " has no ", use.flag));
  }
  return absl::OkStatus();
}

// What people call the file.
absl::string_view VocabularyFileOf(bundle::v1::TokenizerSpec::Kind kind) {
  switch (kind) {
    case bundle::v1::TokenizerSpec::SENTENCEPIECE:
      return "SentencePiece model";
    case bundle::v1::TokenizerSpec::WORD_LIST:
      return "JSON object with word2idx, as SCAN writes it";
    default:
      return "vocab.txt, a token a line";
  }
}

// A wrong vocabulary would go unnoticed: all its ids have rows.
absl::Status ReadVocabulary(const std::string& path, Conversion* conversion) {
  ASSIGN_OR_RETURN(conversion->vocabulary, ReadFile(path, limits::kMaxVocabularyBytes));
  const auto tokenizer = NewTokenizer(conversion->manifest.tokenizer(), conversion->vocabulary);
  if (!tokenizer.ok()) {
    return absl::Status(tokenizer.status().code(),
                        absl::StrCat("vocabulary ", path, ": ", tokenizer.status().message(),
                                     "; family ", conversion->manifest.family(), " reads a ",
                                     VocabularyFileOf(conversion->manifest.tokenizer().kind())));
  }
  const int64_t count = (*tokenizer)->vocabulary_size();
  const int64_t rows = VocabularySizeOf(conversion->manifest);
  if (count == rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("vocabulary ", path, " has ", count, " tokens, but the word table has ", rows,
                   " rows; take the vocabulary that the model was trained with"));
}

// Of fields that several families have.
constexpr FieldOption kFieldOptions[] = {
    {"tokenizer.max_token_count", "--max-tokens"},
    {"tags.max_token_count", "--tag-tokens"},
    {"transformer.max_region_count", "--regions"},
    {"head_count", "--heads"},
    {"region_rule.confidence_floor", "--confidence-floor"},
    {"region_rule.min_count", "--min-regions"},
};

// What a server would say of the bundle when it is too late, and which options to change.
absl::Status CheckConverted(const FamilyConversion& family, const ModelBundleManifest& manifest) {
  const absl::Status status = CheckManifest(manifest);
  if (status.ok()) return status;
  std::vector<std::string> options;
  for (const absl::Span<const FieldOption> some :
       {absl::MakeConstSpan(kFieldOptions), family.field_options}) {
    for (const FieldOption& option : some) {
      if (!absl::StrContains(status.message(), option.field)) continue;
      options.push_back(absl::StrCat(option.flag, " sets ", option.field));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it becomes no model that could be loaded: ", status.message(),
                   options.empty() ? "" : "; ", absl::StrJoin(options, ", ")));
}

std::string Description(const ModelBundleManifest& manifest) {
  std::string text = manifest.description();
  if (manifest.has_transformer()) {
    absl::StrAppend(&text, ", ", manifest.transformer().layer_count(), " layers of width ",
                    manifest.transformer().hidden_size());
  }
  return text + ", from a checkpoint";
}

}  // namespace

std::vector<absl::string_view> ConvertedFamilies() {
  std::vector<absl::string_view> names;
  for (const Converter& converter : kConverters) names.push_back(converter.family);
  return names;
}

absl::StatusOr<Conversion> ConvertCheckpoint(const ConvertOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> source,
                   Checkpoint::Open(options.checkpoint, options.config));
  const auto of_checkpoint = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(options.checkpoint, ": ", status.message()));
  };
  const absl::StatusOr<const Converter*> converter = FindConverter(*source, options);
  if (!converter.ok()) return of_checkpoint(converter.status());
  RETURN_IF_ERROR(CheckOptions(**converter, options));
  const FamilyConversion& family = *(*converter)->conversion;
  absl::StatusOr<Conversion> conversion = family.convert(*source, options);
  if (!conversion.ok()) return of_checkpoint(conversion.status());
  ModelBundleManifest& manifest = conversion->manifest;
  manifest.set_family(std::string((*converter)->family));
  manifest.set_description(options.description.empty() ? Description(manifest)
                                                       : options.description);
  RETURN_IF_ERROR(ReadVocabulary(options.vocabulary, &*conversion));
  const absl::Status loadable = CheckConverted(family, manifest);
  if (!loadable.ok()) return of_checkpoint(loadable);
  conversion->warnings.insert(conversion->warnings.end(), source->warnings().begin(),
                              source->warnings().end());
  conversion->source = std::move(source);
  return conversion;
}

}  // namespace sightline
