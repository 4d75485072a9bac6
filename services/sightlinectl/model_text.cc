#include "services/sightlinectl/model_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/bundle/declared_combinations.h"
#include "common/config/table.h"

namespace sightline {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string TokenizerText(const bundle::v1::TokenizerSpec& spec) {
  return absl::StrCat(bundle::v1::TokenizerSpec::Kind_Name(spec.kind()),
                      spec.lowercase() ? ", lower-casing" : "", ", up to ", spec.max_token_count(),
                      " tokens");
}

std::string TransformerText(const bundle::v1::TransformerSpec& spec) {
  std::string text = absl::StrCat(
      spec.layer_count(), " layers, width ", spec.hidden_size(), ", ", spec.head_count(),
      " heads, feed-forward ", spec.intermediate_size(), ", ", spec.vocabulary_size(), " words, ",
      spec.max_region_count(), " regions of ", spec.region_feature_size());
  if (spec.region_layer_norm()) text += ", normalised";
  if (spec.region_layer_norm_epsilon() > 0) {
    absl::StrAppend(&text, " with epsilon ", spec.region_layer_norm_epsilon());
  }
  if (spec.projection_hidden_size() > 0) {
    absl::StrAppend(&text, ", projected through ", spec.projection_hidden_size());
  }
  return text;
}

std::string GridText(const bundle::v1::GridExtractorSpec& spec) {
  return absl::StrCat(spec.stages_size(), " stages over ", spec.image_size(), " x ",
                      spec.image_size(), " pixels");
}

std::string RegionRuleText(const bundle::v1::RegionRule& rule) {
  return absl::StrCat("those of confidence above ", rule.confidence_floor(), ", at least ",
                      rule.min_count());
}

std::string SceneTextText(const bundle::v1::SceneTextSpec& spec) {
  return absl::StrCat("up to ", spec.max_token_count(), " wordpieces, positions from ",
                      spec.first_position(), ", segment ", spec.token_type(),
                      spec.separator_when_empty() ? ", a lone separator without text"
                                                  : ", no separator without text");
}

std::string TagsText(const bundle::v1::TagSpec& spec) {
  return absl::StrCat("up to ", spec.max_token_count(), " tokens, segment ", spec.token_type());
}

std::string FixedLengthText(const bundle::v1::FixedLengthSpec& spec) {
  return absl::StrCat("texts of ", spec.text_length(), " tokens, tags of ", spec.tag_length(),
                      " tokens padded in segment ", spec.tag_padding_type(), ", ",
                      spec.region_count(), " regions");
}

std::string SgrafText(const bundle::v1::SgrafSpec& spec) {
  std::string text =
      absl::StrCat(bundle::v1::SgrafSpec::Module_Name(spec.module()),
                   spec.step_count() > 0 ? absl::StrCat(" of ", spec.step_count(), " steps") : "",
                   ", width ", spec.embedding_size(), ", alignments of ", spec.similarity_size(),
                   ", ", spec.vocabulary_size(), " words of ", spec.word_size(), ", ",
                   spec.region_count(), " regions of ", spec.region_feature_size());
  if (spec.has_emde()) {
    absl::StrAppend(&text, ", T-EMDE ", spec.emde().partition_count(), " x ",
                    spec.emde().cell_count(), " cells of ", spec.emde().cell_size());
  }
  if (spec.without_global_node()) absl::StrAppend(&text, ", no global node");
  return text;
}

// As the manifest has it, known or not.
std::string CombinationText(const std::string& name, float lambda) {
  return name == "replace" ? name : absl::StrCat(name, ":", lambda);
}

std::string CrossEncoderText(const bundle::v1::CrossEncoderSpec& spec) {
  std::string text = spec.score_kind();
  if (!spec.has_text_to_image() && !spec.has_image_to_text()) {
    absl::StrAppend(&text, ", combined by ",
                    CombinationText(spec.combination(), spec.combination_lambda()));
  }
  if (spec.head_hidden_size() > 0) {
    absl::StrAppend(&text, ", head of width ", spec.head_hidden_size());
  }
  return text;
}

// Where the directions differ, what each of them is told to do.
void AddDirections(const bundle::v1::CrossEncoderSpec& spec, Lines* lines) {
  if (!spec.has_text_to_image() && !spec.has_image_to_text()) return;
  const std::string both = CombinationText(spec.combination(), spec.combination_lambda());
  const auto add = [&](const char* name, bool differs, const bundle::v1::DirectionSpec& own) {
    if (!differs) {
      lines->emplace_back(name, absl::StrCat("combined by ", both));
    } else if (own.combination() == kNoCombination) {
      lines->emplace_back(name, absl::StrCat("none; combined by ", both, " if a request asks"));
    } else {
      lines->emplace_back(
          name, absl::StrCat("combined by ",
                             CombinationText(own.combination(), own.combination_lambda())));
    }
  };
  add("text to image", spec.has_text_to_image(), spec.text_to_image());
  add("image to text", spec.has_image_to_text(), spec.image_to_text());
}

std::string PixelText(const bundle::v1::PixelSpec& spec) {
  return absl::StrCat(spec.image_size(), " x ", spec.image_size(), ", ",
                      absl::AsciiStrToLower(bundle::v1::PixelSpec::Fit_Name(spec.fit())), ", ",
                      absl::AsciiStrToLower(bundle::v1::PixelSpec::Filter_Name(spec.filter())));
}

void AddTorchScript(const bundle::v1::TorchScriptSpec& spec, Lines* lines) {
  const std::pair<const char*, const std::string*> modules[] = {
      {"text module", &spec.text_encoder()},
      {"image module", &spec.image_encoder()},
      {"pair module", &spec.cross_encoder()},
      {"region module", &spec.region_extractor()},
  };
  for (const auto& [name, file] : modules) {
    if (!file->empty()) lines->emplace_back(name, *file);
  }
  if (spec.has_pixels()) lines->emplace_back("pixels", PixelText(spec.pixels()));
  lines->emplace_back("inputs",
                      absl::StrCat(spec.vocabulary_size(), " words, ", spec.max_region_count(),
                                   " regions of ", spec.region_feature_size()));
  if (spec.region_class_count() > 0) {
    lines->emplace_back("soft labels",
                        absl::StrCat(spec.region_class_count(), " classes a region"));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ModelLines(
    const bundle::v1::ModelBundleManifest& manifest) {
  Lines lines = {{"family", manifest.family()}};
  const auto add = [&](const char* name, bool present, const auto& text, const auto& part) {
    if (present) lines.emplace_back(name, text(part));
  };
  if (!manifest.description().empty()) lines.emplace_back("description", manifest.description());
  add("tokenizer", manifest.has_tokenizer(), TokenizerText, manifest.tokenizer());
  add("transformer", manifest.has_transformer(), TransformerText, manifest.transformer());
  add("sgraf", manifest.has_sgraf(), SgrafText, manifest.sgraf());
  add("grid extractor", manifest.has_grid_extractor(), GridText, manifest.grid_extractor());
  if (manifest.has_torch_script()) AddTorchScript(manifest.torch_script(), &lines);
  add("regions", manifest.has_region_rule(), RegionRuleText, manifest.region_rule());
  add("scene text", manifest.has_scene_text(), SceneTextText, manifest.scene_text());
  add("tags", manifest.has_tags(), TagsText, manifest.tags());
  add("fixed lengths", manifest.has_fixed_lengths(), FixedLengthText, manifest.fixed_lengths());
  add("embedding", manifest.has_embedding(), EmbeddingText, manifest.embedding());
  add("cross-encoder", manifest.has_cross_encoder(), CrossEncoderText, manifest.cross_encoder());
  AddDirections(manifest.cross_encoder(), &lines);
  // A manifest of hostile depth is refused by protobuf's own limit when it is parsed.
  for (int i = 0; i < manifest.members_size(); ++i) {
    for (const auto& [name, text] : ModelLines(manifest.members(i))) {
      lines.emplace_back(absl::StrCat("member ", i, " ", name), text);
    }
  }
  return lines;
}

std::string EmbeddingText(const bundle::v1::EmbeddingSpec& embedding) {
  return absl::StrCat(
      embedding.dimension(), " numbers, ",
      embedding.metric() == bundle::v1::EmbeddingSpec::COSINE ? "cosine" : "inner product",
      embedding.rows() == bundle::v1::EmbeddingSpec::FIRST_ROW ? ", of the first row" : "",
      embedding.space().empty() ? "" : ", space ", embedding.space());
}

std::string AlignedLines(const std::vector<std::pair<std::string, std::string>>& lines) {
  Table table({{""}, {""}});
  for (const auto& [name, value] : lines) table.AddRow({name, value});
  return table.RowsToString(2);
}

}  // namespace sightline
