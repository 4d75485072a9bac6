// OSCAR's golden folders, computed by the classes that serve: the folder becomes a model
// bundle, and text, image and pair pass LoadModel's encoders and cross-encoder.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/models/oscar.h"
#include "tests/parity/golden_families.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

// The reference's inputs, unpadded.
struct Inputs {
  std::vector<Tokens> texts;
  std::vector<ImageInput> images;
};

absl::Status CheckCounts(const IntTensor& counts, int64_t items, int64_t width) {
  const bool fits =
      counts.shape[0] == items && std::all_of(counts.values.begin(), counts.values.end(),
                                              [&](int64_t n) { return n >= 1 && n <= width; });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError("text_length or region_count contradicts its tensor");
}

absl::Status ReadTexts(const GoldenCase& golden, Inputs* inputs) {
  ASSIGN_OR_RETURN(const IntTensor ids, golden.Ints("input_ids", 2));
  ASSIGN_OR_RETURN(const IntTensor lengths, golden.Ints("text_length", 1));
  RETURN_IF_ERROR(CheckCounts(lengths, ids.shape[0], ids.shape[1]));
  for (int64_t i = 0; i < ids.shape[0]; ++i) {
    const auto begin = ids.values.begin() + i * ids.shape[1];
    inputs->texts.push_back({{begin, begin + lengths.values[i]}});
  }
  return absl::OkStatus();
}

absl::Status ReadImages(const GoldenCase& golden, Inputs* inputs) {
  ASSIGN_OR_RETURN(const FloatTensor features, golden.Floats("region_features", 3));
  ASSIGN_OR_RETURN(const IntTensor counts, golden.Ints("region_count", 1));
  RETURN_IF_ERROR(CheckCounts(counts, features.shape[0], features.shape[1]));
  const int64_t stride = features.shape[1] * features.shape[2];
  for (int64_t i = 0; i < features.shape[0]; ++i) {
    ImageInput image;
    image.regions.count = counts.values[i];
    image.regions.feature_size = features.shape[2];
    const auto begin = features.values.begin() + i * stride;
    image.regions.features.assign(begin, begin + counts.values[i] * features.shape[2]);
    inputs->images.push_back(std::move(image));
  }
  return absl::OkStatus();
}

// A vocabulary of the right length: the case has ids, no words, but the model looks its
// [CLS] up.
absl::StatusOr<std::string> Vocabulary(int size, int cls_id) {
  if (cls_id >= size) return absl::InvalidArgumentError("config.json: cls_id >= vocab_size");
  std::vector<std::string> others = {"[PAD]", "[UNK]", "[SEP]", "[MASK]"};
  std::string text;
  for (int i = 0; i < size; ++i) {
    if (i == cls_id) {
      text += "[CLS]\n";
    } else if (!others.empty()) {
      text += others.front() + "\n";
      others.erase(others.begin());
    } else {
      absl::StrAppend(&text, "token", i, "\n");
    }
  }
  return text;
}

absl::Status DescribeTransformer(const GoldenCase& golden, bundle::v1::TransformerSpec* spec) {
  ASSIGN_OR_RETURN(const int layers, golden.ConfigInt("num_hidden_layers"));
  ASSIGN_OR_RETURN(const int hidden, golden.ConfigInt("hidden_size"));
  ASSIGN_OR_RETURN(const int heads, golden.ConfigInt("num_attention_heads"));
  ASSIGN_OR_RETURN(const int intermediate, golden.ConfigInt("intermediate_size"));
  ASSIGN_OR_RETURN(const int vocabulary, golden.ConfigInt("vocab_size"));
  ASSIGN_OR_RETURN(const int positions, golden.ConfigInt("max_position_embeddings"));
  ASSIGN_OR_RETURN(const int regions, golden.ConfigInt("image_feature_size"));
  ASSIGN_OR_RETURN(const bool layer_norm, golden.ConfigBool("use_img_layernorm"));
  ASSIGN_OR_RETURN(const double epsilon, golden.ConfigNumber("layer_norm_eps"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> types,
                   golden.WeightShape("bert.embeddings.token_type_embeddings.weight"));
  ASSIGN_OR_RETURN(const FloatTensor features, golden.Floats("region_features", 3));
  ASSIGN_OR_RETURN(const std::string activation, golden.ConfigString("hidden_act"));
  if (activation != "gelu") {
    return absl::InvalidArgumentError(
        absl::StrCat("config.json: hidden_act '", activation, "' is not this transformer's, gelu"));
  }
  spec->set_layer_count(layers);
  spec->set_hidden_size(hidden);
  spec->set_head_count(heads);
  spec->set_intermediate_size(intermediate);
  spec->set_vocabulary_size(vocabulary);
  spec->set_position_count(positions);
  spec->set_token_type_count(types.empty() ? 0 : types[0]);
  spec->set_region_feature_size(regions);
  spec->set_max_region_count(features.shape[1]);
  spec->set_region_layer_norm(layer_norm);
  spec->set_layer_norm_epsilon(epsilon);
  return absl::OkStatus();
}

absl::StatusOr<ModelBundle> WriteBundle(const GoldenCase& golden, absl::string_view store,
                                        absl::string_view score_kind) {
  ModelBundleManifest manifest;
  manifest.set_family("oscar");
  manifest.set_description("A golden case");
  RETURN_IF_ERROR(DescribeTransformer(golden, manifest.mutable_transformer()));
  ASSIGN_OR_RETURN(const int cls_id, golden.ConfigInt("cls_id"));
  ASSIGN_OR_RETURN(std::string vocabulary,
                   Vocabulary(manifest.transformer().vocabulary_size(), cls_id));
  manifest.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::WORDPIECE);
  manifest.mutable_tokenizer()->set_vocabulary_file(std::string(kVocabularyFile));
  manifest.mutable_tokenizer()->set_max_token_count(
      std::min(manifest.transformer().position_count(), 512));
  manifest.mutable_embedding()->set_dimension(manifest.transformer().hidden_size());
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_cross_encoder()->set_score_kind(std::string(score_kind));
  manifest.mutable_cross_encoder()->set_combination("replace");
  return WriteModelBundle(store, manifest,
                          {{std::string(kWeightsFile), golden.weights_bytes()},
                           {std::string(kVocabularyFile), vocabulary}});
}

absl::Status CompareEmbeddings(const GoldenCase& golden, const Model& model, const Inputs& inputs,
                               Comparison* comparison) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const EmbeddingMatrix texts, model.text_encoder()->Encode(inputs.texts, call));
  ASSIGN_OR_RETURN(const EmbeddingMatrix images,
                   model.image_encoder()->Encode(inputs.images, call));
  const int64_t dimension = model.dimension();
  RETURN_IF_ERROR(
      comparison->Add(golden, "text_embedding", {texts.rows(), dimension}, texts.values()));
  RETURN_IF_ERROR(
      comparison->Add(golden, "image_embedding", {images.rows(), dimension}, images.values()));
  std::vector<float> cosine;
  for (int64_t i = 0; i < texts.rows(); ++i) {
    for (int64_t j = 0; j < images.rows(); ++j) {
      double product = 0;
      for (int64_t k = 0; k < dimension; ++k) {
        product += static_cast<double>(texts.row(i)[k]) * images.row(j)[k];
      }
      cosine.push_back(static_cast<float>(product));
    }
  }
  return comparison->Add(golden, "cosine", {texts.rows(), images.rows()}, cosine);
}

absl::Status ComparePairs(const GoldenCase& golden, const OscarModel& model, const Inputs& inputs,
                          Comparison* comparison) {
  const CallContext call = CallContext::Unbounded();
  const CrossEncoder* cross_encoder = model.cross_encoder();
  ASSIGN_OR_RETURN(const std::vector<ItemFeatures> images,
                   cross_encoder->PrepareImages(inputs.images, call));
  std::vector<ItemFeatures> texts;
  for (const Tokens& tokens : inputs.texts) {
    FeatureTensor ids{"ids", Dtype::kInt32, static_cast<int64_t>(tokens.ids.size()), 1, ""};
    ids.bytes.assign(reinterpret_cast<const char*>(tokens.ids.data()),
                     tokens.ids.size() * sizeof(int32_t));
    texts.push_back({{std::move(ids)}});
  }
  std::vector<ScoringPair> pairs;
  for (size_t i = 0; i < std::min(texts.size(), images.size()); ++i) {
    pairs.push_back({&texts[i], &images[i]});
  }
  const int64_t count = pairs.size();
  ASSIGN_OR_RETURN(const std::vector<MatchLogits> logits, model.Logits(pairs, call));
  std::vector<float> flat;
  for (const MatchLogits& pair : logits) flat.insert(flat.end(), {pair.no_match, pair.match});
  RETURN_IF_ERROR(comparison->Add(golden, "classifier_logits", {count, 2}, flat));
  ASSIGN_OR_RETURN(const std::vector<float> scores, cross_encoder->Score(pairs, call));
  return comparison->Add(golden, "match_probability", {count}, scores);
}

}  // namespace

absl::Status CompareOscar(const GoldenCase& golden, Comparison* comparison) {
  Inputs inputs;
  RETURN_IF_ERROR(ReadTexts(golden, &inputs));
  RETURN_IF_ERROR(ReadImages(golden, &inputs));
  const TempDir store;
  ASSIGN_OR_RETURN(const ModelBundle bundle, WriteBundle(golden, store.path(), "softmax_match"));
  ComputePool pool(/*threads=*/2);
  ModelOptions options;
  options.pool = &pool;
  // Stored features are rounded to float16 by default; the tolerance is that of float32.
  options.item_feature_dtype = Dtype::kFloat32;
  ASSIGN_OR_RETURN(const std::unique_ptr<OscarModel> model, OscarModel::Load(bundle, options));
  RETURN_IF_ERROR(CompareEmbeddings(golden, *model, inputs, comparison));
  return ComparePairs(golden, *model, inputs, comparison);
}

}  // namespace sightline
