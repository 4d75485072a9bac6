#include "tests/common/training/tiny_training.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/models/oscar/small_manifest.h"
#include "common/training/random.h"

namespace sightline {
namespace {

constexpr int64_t kSide = 16;
constexpr int64_t kMargin = 2;
constexpr int64_t kBlock = 3;  // of 12 pixels: a 4 x 4 pattern
constexpr int64_t kSpecialTokens = 5;
constexpr int64_t kWords = 40;

TrainingCaption Caption(std::vector<int64_t> words, int64_t key, int64_t language) {
  TrainingCaption caption;
  caption.tokens = {2};
  for (const int64_t word : words) {
    caption.tokens.push_back(static_cast<int32_t>(kSpecialTokens + word % kWords));
  }
  caption.tokens.push_back(3);
  caption.language = language;
  caption.key = key;
  return caption;
}

TrainingRow Row(TrainingUse use, int64_t row, bool captioned) {
  TrainingRow made;
  made.use = use;
  made.group = row;
  if (captioned) {
    made.captions = {Caption({row % 6, 6 + row / 6}, row, 0), Caption({12 + row}, 100 + row, 0),
                     Caption({row, 2 * row + 1, 30}, 200 + row, 1)};
  }
  return made;
}

}  // namespace

TrainingSetContent TinyContent(const TinyRows& rows) {
  TrainingSetContent content;
  const auto add = [&](TrainingUse use, int64_t count, bool captioned) {
    for (int64_t i = 0; i < count; ++i) {
      content.rows.push_back(Row(use, static_cast<int64_t>(content.rows.size()), captioned));
    }
  };
  add(TrainingUse::kTrain, rows.train, true);
  add(TrainingUse::kTrain, rows.distractors, false);
  add(TrainingUse::kValidation, rows.validation, true);
  add(TrainingUse::kHeldOut, rows.held_out, true);
  for (int32_t i = 0; i < 5; ++i) {
    content.concepts.push_back({{2, 10 + i, 3}, {2, 20 + i, 21 + i, 3}});
  }
  content.concepts[0].push_back({2, 11, 3});
  content.image_size = kSide;
  content.max_token_count = 8;
  content.vocabulary_size = kSpecialTokens + kWords;
  content.special_tokens = {0, 1, 2, 3, 4};
  content.languages = {"en", "de"};
  content.vocabulary_sha256 = Sha256Hex(TinyTrainingVocabulary());
  content.items_sha256 = Sha256Hex("items");
  return content;
}

std::string TinyTrainingVocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int64_t i = 0; i < kWords; ++i) absl::StrAppend(&text, "word", i, "\n");
  return text;
}

std::string TinyPicture(int64_t row) {
  Random random(1000 + row);
  std::string planes(3 * kSide * kSide, '\xff');
  for (int64_t plane = 0; plane < 3; ++plane) {
    std::vector<char> colours;
    for (int i = 0; i < 16; ++i) colours.push_back(static_cast<char>(random.Below(256)));
    for (int64_t y = kMargin; y < kSide - kMargin; ++y) {
      for (int64_t x = kMargin; x < kSide - kMargin; ++x) {
        const int64_t block = (y - kMargin) / kBlock * 4 + (x - kMargin) / kBlock;
        planes[(plane * kSide + y) * kSide + x] = colours[block];
      }
    }
  }
  return planes;
}

TinyTrainingSet::TinyTrainingSet(const TrainingSetContent& content,
                                 const std::function<std::string(int64_t row)>& picture) {
  const std::string path = dir_.File("set.container");
  std::string bytes;
  const absl::Status written =
      WriteTrainingSet(path, content, [&](int64_t row) -> absl::StatusOr<absl::string_view> {
        bytes = picture(row);
        return absl::string_view(bytes);
      });
  if (!written.ok()) throw std::runtime_error(written.ToString());
  auto set = TrainingSet::Open(path);
  if (!set.ok()) throw std::runtime_error(set.status().ToString());
  set_ = *std::move(set);
}

bundle::v1::ModelBundleManifest TinyTrainingManifest() {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  manifest.clear_description();
  manifest.mutable_tokenizer()->set_max_token_count(8);
  manifest.mutable_embedding()->set_dimension(16);
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  transformer->set_layer_count(2);
  transformer->set_hidden_size(16);
  transformer->set_head_count(2);
  transformer->set_intermediate_size(32);
  transformer->set_position_count(8);
  transformer->set_region_feature_size(12 + 6);
  transformer->set_max_region_count(4);
  bundle::v1::GridExtractorSpec* grid = manifest.mutable_grid_extractor();
  grid->set_image_size(static_cast<int>(kSide));
  grid->clear_stages();
  for (const int channels : {8, 8, 12}) grid->add_stages()->set_channel_count(channels);
  return manifest;
}

TrainingOptions TinyTrainingOptions() {
  TrainingOptions options;
  options.augment = {};
  options.augment.scale = options.augment.shift = options.augment.rotation_degrees = 0;
  options.augment.brightness = options.augment.contrast = options.augment.saturation = 0;
  options.dropout = 0;
  options.average = 0.9;
  options.bi.epochs = 2;
  options.bi.batch_size = 4;
  options.bi.distractors = 3;
  options.bi.rate = {5e-3, 5, DecayShape::kCosine, 0.1};
  options.joint.epochs = 2;
  options.joint.rate = {5e-3, 5, DecayShape::kCosine, 0.1};
  options.joint.queries = 4;
  options.joint.negatives = 3;
  options.joint.random_negatives = 1;
  options.joint.mine_every = 1;
  options.joint.refresh_every = 1;
  options.joint.mined = 6;
  options.joint.pass_rows = 100;
  options.validation.every = 1;
  options.validation.training_queries = 12;
  options.validation.depth = 5;
  return options;
}

}  // namespace sightline
