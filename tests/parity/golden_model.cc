#include "tests/parity/golden_model.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/shard_writer.h"
#include "common/models/inputs/stored_features.h"

namespace sightline {
namespace {

absl::Status CheckCounts(const IntTensor& counts, int64_t items, int64_t width) {
  const bool fits =
      counts.shape[0] == items && std::all_of(counts.values.begin(), counts.values.end(),
                                              [&](int64_t n) { return n >= 1 && n <= width; });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError("a length or count contradicts its tensor");
}

}  // namespace

absl::StatusOr<std::vector<Tokens>> ReadGoldenTexts(const GoldenCase& golden,
                                                    absl::string_view ids_name,
                                                    absl::string_view lengths_name) {
  ASSIGN_OR_RETURN(const IntTensor ids, golden.Ints(ids_name, 2));
  ASSIGN_OR_RETURN(const IntTensor lengths, golden.Ints(lengths_name, 1));
  RETURN_IF_ERROR(CheckCounts(lengths, ids.shape[0], ids.shape[1]));
  std::vector<Tokens> texts;
  for (int64_t i = 0; i < ids.shape[0]; ++i) {
    const auto begin = ids.values.begin() + i * ids.shape[1];
    texts.push_back({{begin, begin + lengths.values[i]}});
  }
  return texts;
}

absl::StatusOr<std::vector<ImageInput>> ReadGoldenImages(const GoldenCase& golden,
                                                         bool with_boxes) {
  ASSIGN_OR_RETURN(const FloatTensor features, golden.Floats("region_features", 3));
  ASSIGN_OR_RETURN(const IntTensor counts, golden.Ints("region_count", 1));
  RETURN_IF_ERROR(CheckCounts(counts, features.shape[0], features.shape[1]));
  FloatTensor boxes;
  if (with_boxes) {
    ASSIGN_OR_RETURN(boxes, golden.Floats("region_boxes", 3));
    const bool fits = boxes.shape[0] == features.shape[0] && boxes.shape[1] == features.shape[1] &&
                      boxes.shape[2] >= 4;
    if (!fits) return absl::InvalidArgumentError("region_boxes contradicts region_features");
  }
  std::vector<ImageInput> images;
  for (int64_t i = 0; i < features.shape[0]; ++i) {
    ImageInput image;
    image.regions.count = counts.values[i];
    image.regions.feature_size = features.shape[2];
    for (int64_t r = i * features.shape[1]; r < i * features.shape[1] + counts.values[i]; ++r) {
      const auto feature = features.values.begin() + r * features.shape[2];
      image.regions.features.insert(image.regions.features.end(), feature,
                                    feature + features.shape[2]);
      if (!with_boxes) continue;
      const auto box = boxes.values.begin() + r * boxes.shape[2];
      image.regions.boxes.insert(image.regions.boxes.end(), box, box + 4);
      if (boxes.shape[2] < 6) continue;
      image.regions.box_sizes.insert(image.regions.box_sizes.end(), box + 4, box + 6);
    }
    images.push_back(std::move(image));
  }
  return images;
}

absl::StatusOr<GoldenInputs> ReadGoldenInputs(const GoldenCase& golden, bool with_boxes) {
  GoldenInputs inputs;
  ASSIGN_OR_RETURN(inputs.texts, ReadGoldenTexts(golden, "input_ids", "text_length"));
  ASSIGN_OR_RETURN(inputs.images, ReadGoldenImages(golden, with_boxes));
  return inputs;
}

std::string GoldenWord(int64_t id) {
  return absl::StrCat("token", id);
}

std::string GoldenVocabulary(int size, int cls_id, int sep_id) {
  std::vector<std::string> others = {"[PAD]", "[UNK]", "[MASK]"};
  std::reverse(others.begin(), others.end());
  std::string text;
  for (int i = 0; i < size; ++i) {
    std::string word = GoldenWord(i);
    if (i == cls_id) {
      word = "[CLS]";
    } else if (i == sep_id) {
      word = "[SEP]";
    } else if (!others.empty()) {
      word = others.back();
      others.pop_back();
    }
    absl::StrAppend(&text, word, "\n");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<GoldenModel>> GoldenModel::Convert(const GoldenCase& golden,
                                                                  ConvertOptions options,
                                                                  const std::string& vocabulary) {
  auto result = absl::WrapUnique(new GoldenModel());
  options.checkpoint = JoinPath(golden.directory(), "weights.safetensors");
  options.config = JoinPath(golden.directory(), "config.json");
  options.vocabulary = result->store_.File("vocabulary");
  RETURN_IF_ERROR(WriteFileAtomically(options.vocabulary, vocabulary));
  ASSIGN_OR_RETURN(const Conversion conversion, ConvertCheckpoint(options));
  ASSIGN_OR_RETURN(result->bundle_, WriteConversion(result->store_.path(), conversion, {}));
  ModelOptions model_options;
  model_options.pool = &result->pool_;
  model_options.execution = golden.execution();
  ASSIGN_OR_RETURN(result->model_, LoadModel(result->bundle_, model_options));
  return result;
}

absl::Status CompareEmbeddings(const GoldenCase& golden, const Model& model,
                               const GoldenInputs& inputs, absl::string_view products,
                               GoldenComparison* comparison) {
  return CompareEmbeddings(golden, model, inputs, "text_embedding", "image_embedding", products,
                           comparison);
}

absl::Status CompareEmbeddings(const GoldenCase& golden, const Model& model,
                               const GoldenInputs& inputs, absl::string_view texts_name,
                               absl::string_view images_name, absl::string_view products_name,
                               GoldenComparison* comparison) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const EmbeddingMatrix texts, model.text_encoder()->Encode(inputs.texts, call));
  ASSIGN_OR_RETURN(const EmbeddingMatrix images,
                   model.image_encoder()->Encode(inputs.images, call));
  const int64_t dimension = model.dimension();
  RETURN_IF_ERROR(comparison->Add(golden, texts_name, {texts.rows(), dimension}, texts.values()));
  RETURN_IF_ERROR(
      comparison->Add(golden, images_name, {images.rows(), dimension}, images.values()));
  std::vector<float> products;
  for (int64_t i = 0; i < texts.rows(); ++i) {
    for (int64_t j = 0; j < images.rows(); ++j) {
      double product = 0;
      for (int64_t k = 0; k < dimension; ++k) {
        product += static_cast<double>(texts.row(i)[k]) * images.row(j)[k];
      }
      products.push_back(static_cast<float>(product));
    }
  }
  return comparison->Add(golden, products_name, {texts.rows(), images.rows()}, products);
}

std::vector<ItemFeatures> GoldenTextFeatures(const std::vector<Tokens>& texts) {
  std::vector<ItemFeatures> features;
  for (const Tokens& tokens : texts) {
    FeatureTensor ids{"ids", Dtype::kInt32, static_cast<int64_t>(tokens.ids.size()), 1, ""};
    ids.bytes.assign(reinterpret_cast<const char*>(tokens.ids.data()),
                     tokens.ids.size() * sizeof(int32_t));
    features.push_back({{std::move(ids)}});
  }
  return features;
}

absl::StatusOr<std::vector<ItemFeatures>> PreparedFeatures(const Model& model,
                                                           const GoldenInputs& inputs) {
  return model.cross_encoder()->PrepareImages(inputs.images, CallContext::Unbounded());
}

absl::StatusOr<std::vector<ItemFeatures>> StoredFeatures(const Model& model,
                                                         const GoldenInputs& inputs, Dtype dtype) {
  ASSIGN_OR_RETURN(std::vector<ItemFeatures> prepared, PreparedFeatures(model, inputs));
  std::vector<EncodedItem> items;
  std::vector<int64_t> rows;
  for (ItemFeatures& features : prepared) {
    EncodedItem item;
    item.record.item_id = absl::StrFormat("%06d", items.size());  // items are sorted by it
    item.embedding = {1};
    ASSIGN_OR_RETURN(item.features.emplace_back(), StoredAs(dtype, std::move(features)));
    rows.push_back(static_cast<int64_t>(items.size()));
    items.push_back(std::move(item));
  }
  const TempDir directory;
  ASSIGN_OR_RETURN(const bundle::v1::ShardManifest shard,
                   WriteShard(directory.path(), /*shard=*/0, /*shard_count=*/1, /*dimension=*/1,
                              {model.id()}, std::move(items)));
  ASSIGN_OR_RETURN(const auto store,
                   FeatureStore::Open(directory.File(shard.features().path()), shard));
  return store->Get(model.id(), rows);
}

namespace {

// Of image i with text j, wherever `wanted(i, j)`.
template <typename Wanted>
absl::StatusOr<std::vector<float>> ScoreWhere(const Model& model, const std::vector<Tokens>& tokens,
                                              const std::vector<ItemFeatures>& images,
                                              const Wanted& wanted) {
  const std::vector<ItemFeatures> texts = GoldenTextFeatures(tokens);
  std::vector<ScoringPair> pairs;
  for (size_t i = 0; i < images.size(); ++i) {
    for (size_t j = 0; j < texts.size(); ++j) {
      if (wanted(i, j)) pairs.push_back({&texts[j], &images[i]});
    }
  }
  return model.cross_encoder()->Score(pairs, CallContext::Unbounded());
}

}  // namespace

absl::StatusOr<std::vector<float>> ScoreGoldenPairs(const Model& model,
                                                    const std::vector<Tokens>& texts,
                                                    const std::vector<ItemFeatures>& images) {
  return ScoreWhere(model, texts, images, [](size_t i, size_t j) { return i == j; });
}

absl::StatusOr<std::vector<float>> ScoreAllGoldenPairs(const Model& model,
                                                       const std::vector<Tokens>& texts,
                                                       const std::vector<ItemFeatures>& images) {
  return ScoreWhere(model, texts, images, [](size_t, size_t) { return true; });
}

absl::Status CompareStoredLogits(const GoldenCase& golden, const GoldenModel& model,
                                 const GoldenInputs& inputs, absl::string_view tensor, Dtype dtype,
                                 GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const auto images, StoredFeatures(model.model(), inputs, dtype));
  ASSIGN_OR_RETURN(const std::vector<float> logits,
                   ScoreGoldenPairs(model.model(), inputs.texts, images));
  return comparison->AddColumn(golden, tensor, /*column=*/1, /*columns=*/2, logits);
}

}  // namespace sightline
