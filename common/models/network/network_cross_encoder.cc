#include "common/models/network/network_cross_encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/inputs/feature_tensors.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {
namespace {

std::vector<Group> OneEach(size_t count) {
  GroupingOptions options;
  options.one_each = true;
  return GroupByShape(std::vector<ItemShape>(count), options);
}

// A pair whose features have been checked.
struct CheckedPair {
  size_t text = 0;  // among the different ones
  std::vector<StoredRows> image;
};

// The pairs of a call, with each text once.
struct CheckedPairs {
  std::vector<Tokens> texts;
  std::vector<CheckedPair> pairs;
};

class NetworkCrossEncoder : public CrossEncoder {
 public:
  NetworkCrossEncoder(const ModelCore* core, ScoreKind kind)
      : core_(*core),
        kind_(kind),
        ids_name_(absl::StrCat(core_.options.feature_prefix, "ids")),
        layout_(Prefixed(core_.options.feature_prefix, core_.network->image_layout())) {}

  ItemFeatures PrepareText(const Tokens& text) const override {
    return TextInput::ToFeatures(text, ids_name_);
  }

  // One image at a time, always: a matrix product of another height may differ in its last
  // bit, and that could tip the rounding of a stored feature.
  absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(absl::Span<const ImageInput> images,
                                                          const CallContext& call) const override {
    ASSIGN_OR_RETURN(const std::vector<ImageNumbers> numbers, ReadImages(*core_.network, images));
    std::vector<ItemFeatures> features(images.size());
    const auto prepare = [&](const Group& group) {
      const int64_t i = group[0];
      const FeatureRows rows = core_.network->PrepareImage(numbers[i]);
      for (size_t t = 0; t < layout_.size(); ++t) {
        features[i].tensors.push_back(TensorGate::ToFeature(layout_[t].name, rows[t]));
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(core_.Run(OneEach(images.size()), call, "prepare images", prepare));
    return features;
  }

  absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                           const CallContext& call) const override {
    ASSIGN_OR_RETURN(const CheckedPairs checked, Check(pairs));
    ASSIGN_OR_RETURN(const std::vector<PreparedText> texts, PrepareTexts(checked.texts, call));
    std::vector<ItemShape> shapes;
    for (const CheckedPair& pair : checked.pairs) {
      shapes.push_back({static_cast<int64_t>(checked.texts[pair.text].ids.size()), Rows(pair)});
    }
    std::vector<float> scores(pairs.size());
    RETURN_IF_ERROR(
        core_.Run(GroupByShape(shapes, core_.grouping()), call, "score pairs",
                  [&](const Group& group) { return ScoreGroup(group, checked, texts, &scores); }));
    return scores;
  }

  int64_t Cost(const ScoringPair& pair) const override {
    int64_t cost = RowsOf(pair.text, ids_name_);
    for (const FeatureLayout& tensor : layout_) cost += RowsOf(pair.image, tensor.name);
    return cost;
  }

  ScoreKind score_kind() const override { return kind_; }

 private:
  static std::vector<FeatureLayout> Prefixed(absl::string_view prefix,
                                             std::vector<FeatureLayout> layout) {
    for (FeatureLayout& tensor : layout) tensor.name = absl::StrCat(prefix, tensor.name);
    return layout;
  }

  static int64_t RowsOf(const ItemFeatures* features, absl::string_view name) {
    const FeatureTensor* tensor = features == nullptr ? nullptr : features->Find(name);
    return tensor == nullptr ? 0 : std::max<int64_t>(tensor->rows, 0);
  }

  static int64_t Rows(const CheckedPair& pair) {
    int64_t rows = 0;
    for (const StoredRows& part : pair.image) rows += part.rows->rows;
    return rows;
  }

  absl::StatusOr<CheckedPairs> Check(absl::Span<const ScoringPair> pairs) const {
    CheckedPairs checked;
    // A query's features are one object however many candidates it has.
    std::map<const ItemFeatures*, size_t> known;
    for (const ScoringPair& pair : pairs) {
      if (pair.text == nullptr || pair.image == nullptr) {
        return AtItem("pair", checked.pairs.size(),
                      absl::InvalidArgumentError(
                          absl::StrCat("has no ", pair.text == nullptr ? "text" : "image")));
      }
      const auto [text, is_new] = known.emplace(pair.text, checked.texts.size());
      if (is_new) {
        auto tokens = core_.text->FromFeatures(*pair.text, ids_name_);
        if (!tokens.ok()) return Unfit(checked.pairs.size(), "text", tokens.status());
        checked.texts.push_back(*std::move(tokens));
      }
      auto image = CheckImage(*pair.image);
      if (!image.ok()) return Unfit(checked.pairs.size(), "image", image.status());
      checked.pairs.push_back({text->second, *std::move(image)});
    }
    return checked;
  }

  static absl::Status Unfit(size_t pair, absl::string_view side, const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat("pair ", pair, " ", side, ": ", status.message()));
  }

  absl::StatusOr<std::vector<StoredRows>> CheckImage(const ItemFeatures& image) const {
    std::vector<StoredRows> parts;
    for (const FeatureLayout& wanted : layout_) {
      ASSIGN_OR_RETURN(const StoredRows part, FindPart(image, wanted));
      if (part.rows->rows < wanted.min_rows) {
        return absl::InvalidArgumentError(absl::StrCat("feature tensor '", wanted.name, "' has ",
                                                       part.rows->rows, " rows, the model reads ",
                                                       wanted.min_rows));
      }
      parts.push_back(part);
    }
    return parts;
  }

  absl::StatusOr<StoredRows> FindPart(const ItemFeatures& image,
                                      const FeatureLayout& wanted) const {
    if (!wanted.holds_ids) return RequireRows(image, wanted.name, wanted.max_rows, wanted.columns);
    ASSIGN_OR_RETURN(const FeatureTensor* ids, RequireTensor(image, wanted.name, {Dtype::kInt32},
                                                             wanted.max_rows, /*columns=*/1));
    RETURN_IF_ERROR(core_.text->Check(IdsOf(*ids), wanted.max_rows));
    return StoredRows{ids, nullptr};
  }

  absl::StatusOr<std::vector<PreparedText>> PrepareTexts(const std::vector<Tokens>& texts,
                                                         const CallContext& call) const {
    std::vector<PreparedText> prepared(texts.size());
    RETURN_IF_ERROR(
        core_.Run(OneEach(texts.size()), call, "prepare texts", [&](const Group& group) {
          const int64_t i = group[0];
          prepared[i] = core_.network->PrepareText(texts[i].ids);
          return absl::OkStatus();
        }));
    return prepared;
  }

  absl::Status ScoreGroup(const Group& group, const CheckedPairs& checked,
                          const std::vector<PreparedText>& texts,
                          std::vector<float>* scores) const {
    std::vector<NetworkPair> pairs;
    for (const int64_t i : group) {
      const CheckedPair& pair = checked.pairs[i];
      pairs.push_back({checked.texts[pair.text].ids,
                       &texts[pair.text],
                       {pair.image.begin(), pair.image.end()}});
    }
    const at::Tensor outputs = TensorGate::Out(core_.network->ScorePairs(pairs));
    const float* output = outputs.data_ptr<float>();
    for (const int64_t i : group) {
      (*scores)[i] = ScoreOf(output);
      output += outputs.size(1);
      if (!std::isfinite((*scores)[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "pair ", i, " has a score that is not finite; its features are too large"));
      }
    }
    return absl::OkStatus();
  }

  // Of the head's one or two outputs.
  float ScoreOf(const float* output) const {
    switch (kind_) {
      case ScoreKind::kSoftmaxMatch:
        return 1 / (1 + std::exp(output[0] - output[1]));
      case ScoreKind::kLogitMatch:
        return output[1];
      case ScoreKind::kRankRaw:
      case ScoreKind::kSigmoid:
        return output[0];
    }
    return output[0];
  }

  const ModelCore& core_;
  const ScoreKind kind_;
  const std::string ids_name_;
  const std::vector<FeatureLayout> layout_;
};

}  // namespace

std::unique_ptr<const CrossEncoder> NewNetworkCrossEncoder(const ModelCore* core, ScoreKind kind) {
  return std::make_unique<NetworkCrossEncoder>(core, kind);
}

}  // namespace sightline
