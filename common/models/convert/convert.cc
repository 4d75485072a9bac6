#include "common/models/convert/convert.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/bundle_tokenizer.h"
#include "common/models/convert/families.h"
#include "common/models/family_manifests.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

struct Converter {
  absl::string_view family;
  absl::string_view title;
  absl::StatusOr<Conversion> (*convert)(const Checkpoint&, const ConvertOptions&);
};

constexpr Converter kConverters[] = {
    {"uniter", "UNITER cross-encoder", ConvertUniter},
    {"lightningdot", "LightningDOT", ConvertLightningDot},
    {"oscar", "OSCAR", ConvertOscar},
    {"vldeformer", "VLDeformer", ConvertVlDeformer},
    {"m3p", "M3P", ConvertM3p},
    {"sgraf", "SGRAF", ConvertSgraf},
};

// OSCAR's trunk alone may be a VLDeformer, which pads to lengths of its own.
absl::StatusOr<std::string> OscarOrVlDeformer(const Checkpoint& source,
                                              const ConvertOptions& options) {
  const NamedTensors& tensors = source.tensors();
  const bool named_trunk = tensors.count("bert.img_embedding.weight") != 0;
  const bool classifier =
      tensors.count("classifier.weight") + tensors.count("classifier.0.weight") != 0;
  if (classifier || !named_trunk || !options.use.empty()) return std::string("oscar");
  // Heads of pre-training are an OSCAR's.
  const auto head = tensors.lower_bound("cls.");
  const bool pretrained = head != tensors.end() && absl::StartsWith(head->first, "cls.");
  if (!pretrained && (absl::EndsWith(source.file_name(), ".cpkt") ||
                      source.Integer("max_img_seq_length").has_value())) {
    return std::string("vldeformer");
  }
  return absl::InvalidArgumentError(
      "the checkpoint is an OSCAR trunk without a classifier: give --family oscar for a "
      "bi-encoder that averages an item's own rows, or --family vldeformer for one that averages "
      "rows of fixed lengths");
}

absl::StatusOr<const Converter*> FindConverter(const Checkpoint& source,
                                               const ConvertOptions& options) {
  std::string family = options.family.empty() ? FamilyOf(source.tensors()) : options.family;
  if (options.family.empty() && family == "oscar") {
    ASSIGN_OR_RETURN(family, OscarOrVlDeformer(source, options));
  }
  for (const Converter& converter : kConverters) {
    if (converter.family == family) return &converter;
  }
  const std::string known = absl::StrJoin(
      kConverters, ", ",
      [](std::string* out, const Converter& converter) { absl::StrAppend(out, converter.family); });
  if (!family.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no family '", family, "' to convert to; there are: ", known));
  }
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const auto& [name, view] : source.tensors()) {
    if (names.size() < kMostNamed) names.push_back(absl::CHexEscape(name.substr(0, 100)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no family has tensors like these ", source.tensors().size(), " (",
                   absl::StrJoin(names, ", "), ", ...); if it is one of ", known,
                   ", give --family NAME to be told what is missing"));
}

// What decides between OSCAR and VLDeformer is a guess, and a wrong one gives other embeddings.
constexpr char kInferredVlDeformer[] =
    "the family was not given: the checkpoint is taken for a vldeformer, an OSCAR trunk whose "
    "file is *.cpkt or whose config tells max_img_seq_length; give --family vldeformer if it is "
    "one, --family oscar if it is not";

// Options that mean nothing to a family are refused, not ignored.
absl::Status CheckOptions(absl::string_view family, const ConvertOptions& options) {
  const auto is_one_of = [&](std::initializer_list<absl::string_view> families) {
    return std::find(families.begin(), families.end(), family) != families.end();
  };
  const bool has_rule = is_one_of({"uniter", "lightningdot"});
  const bool reads_scenes = options.scene_text && family == "lightningdot";
  const struct {
    absl::string_view flag;
    bool given, fits;
  } uses[] = {
      {"--scene-text", options.scene_text, family == "lightningdot"},
      {"--ocr-tokens without --scene-text", options.scene_token_count.has_value(), reads_scenes},
      {"--ocr-position without --scene-text", options.scene_position.has_value(), reads_scenes},
      {"--ocr-type without --scene-text", options.scene_token_type.has_value(), reads_scenes},
      {"--lone-separator without --scene-text", options.lone_separator, reads_scenes},
      {"--confidence-floor", options.confidence_floor.has_value(), has_rule},
      {"--min-regions", options.min_region_count.has_value(), has_rule},
      {"--min-regions beside a floor of 0, where all are read",
       options.min_region_count.has_value(), options.confidence_floor != 0.0},
      {"--use", !options.use.empty(), is_one_of({"oscar", "m3p"})},
      {"--score-kind: it is no cross-encoder", !options.score_kind.empty(),
       !is_one_of({"lightningdot", "vldeformer"})},
      {"--tag-tokens", options.tag_token_count.has_value(), is_one_of({"oscar", "vldeformer"})},
      {"--tag-padding-type", options.tag_padding_type.has_value(), family == "vldeformer"},
      {"--cells", options.cell_count.has_value(), family == "sgraf"},
      {"--heads", options.head_count.has_value(), family != "sgraf"},
  };
  for (const auto& use : uses) {
    if (!use.given || use.fits) continue;
    return absl::InvalidArgumentError(absl::StrCat("family ", family, " has no ", use.flag));
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

// The options that decide fields of a manifest.
struct FieldOption {
  absl::string_view field;
  absl::string_view flag;
};

constexpr FieldOption kFieldOptions[] = {
    {"tokenizer.max_token_count", "--max-tokens"},
    {"tags.max_token_count", "--tag-tokens"},
    {"transformer.max_region_count", "--regions"},
    {"head_count", "--heads"},
    {"fixed_lengths.text_length", "--max-tokens"},
    {"fixed_lengths.tag_length", "--tag-tokens"},
    {"fixed_lengths.region_count", "--regions"},
    {"fixed_lengths.tag_padding_type", "--tag-padding-type"},
    {"region_rule.confidence_floor", "--confidence-floor"},
    {"region_rule.min_count", "--min-regions"},
    {"scene_text.max_token_count", "--ocr-tokens"},
    {"scene_text.first_position", "--ocr-position"},
    {"scene_text.token_type", "--ocr-type"},
    {"sgraf.region_count", "--regions"},
    {"sgraf.emde.partition_count", "--cells"},
    {"sgraf.emde.cell_count", "--cells"},
};

// What a server would say of the bundle when it is too late, and which options to change.
absl::Status CheckConverted(const ModelBundleManifest& manifest) {
  const absl::Status status = CheckManifest(manifest);
  if (status.ok()) return status;
  std::vector<std::string> options;
  for (const FieldOption& option : kFieldOptions) {
    if (!absl::StrContains(status.message(), option.field)) continue;
    options.push_back(absl::StrCat(option.flag, " sets ", option.field));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it becomes no model that could be loaded: ", status.message(),
                   options.empty() ? "" : "; ", absl::StrJoin(options, ", ")));
}

std::string Description(const ModelBundleManifest& manifest, absl::string_view title) {
  std::string text(title);
  if (manifest.has_scene_text()) text += " that reads text in pictures";
  if (manifest.has_sgraf()) {
    absl::StrAppend(&text, ", ", bundle::v1::SgrafSpec::Module_Name(manifest.sgraf().module()),
                    manifest.sgraf().has_emde() ? " with T-EMDE" : "");
  } else {
    absl::StrAppend(&text, ", ", manifest.transformer().layer_count(), " layers of width ",
                    manifest.transformer().hidden_size());
  }
  return text + ", from a checkpoint";
}

}  // namespace

absl::StatusOr<Conversion> ConvertCheckpoint(const ConvertOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> source,
                   Checkpoint::Open(options.checkpoint, options.config));
  const auto of_checkpoint = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(options.checkpoint, ": ", status.message()));
  };
  const absl::StatusOr<const Converter*> converter = FindConverter(*source, options);
  if (!converter.ok()) return of_checkpoint(converter.status());
  RETURN_IF_ERROR(CheckOptions((*converter)->family, options));
  absl::StatusOr<Conversion> conversion = (*converter)->convert(*source, options);
  if (!conversion.ok()) return of_checkpoint(conversion.status());
  ModelBundleManifest& manifest = conversion->manifest;
  manifest.set_family(std::string((*converter)->family));
  manifest.set_description(options.description.empty() ? Description(manifest, (*converter)->title)
                                                       : options.description);
  RETURN_IF_ERROR(ReadVocabulary(options.vocabulary, &*conversion));
  const absl::Status loadable = CheckConverted(manifest);
  if (!loadable.ok()) return of_checkpoint(loadable);
  if (options.family.empty() && manifest.family() == "vldeformer") {
    conversion->warnings.push_back(kInferredVlDeformer);
  }
  conversion->warnings.insert(conversion->warnings.end(), source->warnings().begin(),
                              source->warnings().end());
  conversion->source = std::move(source);
  return conversion;
}

}  // namespace sightline
