// A VLDeformer's embeddings, which average over rows of padding, by hand.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/formats/safetensors.h"
#include "common/models/model.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/vldeformer/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Vec = std::vector<double>;

const CallContext kCall = CallContext::Unbounded();
// Of TinyVlDeformer's vocabulary.
constexpr int kCls = 2, kSep = 3, kRed = 6, kFish = 8;

// The referee: the formulas in plain loops and doubles, a row at a time.
class Referee {
 public:
  explicit Referee(const ModelBundle& bundle)
      : manifest_(bundle.manifest), file_(*Safetensors::Open(bundle.FilePath(kWeightsFile))) {}

  Vec Text(const std::vector<int>& ids) {
    AddTokens(ids, manifest_.fixed_lengths().text_length(), 0, 0);
    return Embedding();
  }

  Vec Image(const std::vector<int>& ids, const RegionSet& regions) {
    const auto& lengths = manifest_.fixed_lengths();
    AddTokens(ids, lengths.tag_length(), manifest_.tags().token_type(), lengths.tag_padding_type());
    for (int r = 0; r < lengths.region_count(); ++r) {
      Vec feature(16);
      if (r < regions.count) {
        for (int i = 0; i < 10; ++i) feature[i] = regions.features[r * 10 + i];
        for (int i = 0; i < 4; ++i) feature[10 + i] = regions.boxes[r * 4 + i];
        feature[14] = feature[12] - feature[10];
        feature[15] = feature[13] - feature[11];
      }
      rows_.push_back(Linear("bert.img_embedding", feature));
      seen_.push_back(r < regions.count);
    }
    return Embedding();
  }

 private:
  // The ids, then word 0 up to `length` rows.
  void AddTokens(const std::vector<int>& ids, int length, int type, int padding_type) {
    const std::string table = "bert.embeddings.";
    for (int i = 0; i < length; ++i) {
      const bool real = i < static_cast<int>(ids.size());
      rows_.push_back(
          Norm("bert.embeddings.LayerNorm",
               Sum(Row(table + "word_embeddings", real ? ids[i] : 0),
                   Sum(Row(table + "position_embeddings", i),
                       Row(table + "token_type_embeddings", real ? type : padding_type)))));
      seen_.push_back(real);
    }
  }

  // tanh of the mean over all rows, or of the first one, of length one.
  Vec Embedding() {
    for (int i = 0; i < manifest_.transformer().layer_count(); ++i) {
      RunLayer("bert.encoder.layer." + std::to_string(i) + ".");
    }
    if (manifest_.embedding().rows() == bundle::v1::EmbeddingSpec::FIRST_ROW) rows_.resize(1);
    Vec mean(rows_[0].size());
    for (const Vec& row : rows_) mean = Sum(mean, row);
    double squares = 0;
    for (double& x : mean) {
      x = std::tanh(x / rows_.size());
      squares += x * x;
    }
    for (double& x : mean) x /= std::sqrt(squares);
    rows_.clear();
    seen_.clear();
    return mean;
  }

  void RunLayer(const std::string& layer) {
    std::vector<Vec> next;
    for (const Vec& row : rows_) {
      const Vec attended = Norm(
          layer + "attention.output.LayerNorm",
          Sum(Linear(layer + "attention.output.dense", Attention(layer + "attention.self.", row)),
              row));
      Vec inner = Linear(layer + "intermediate.dense", attended);
      for (double& x : inner) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      next.push_back(
          Norm(layer + "output.LayerNorm", Sum(Linear(layer + "output.dense", inner), attended)));
    }
    rows_ = std::move(next);
  }

  // What a row sees of those that are not padding.
  Vec Attention(const std::string& name, const Vec& row) const {
    const size_t heads = manifest_.transformer().head_count(), size = row.size() / heads;
    const Vec query = Linear(name + "query", row);
    Vec result(row.size());
    for (size_t head = 0; head < heads; ++head) {
      double total = 0;
      Vec sum(size);
      for (size_t other = 0; other < rows_.size(); ++other) {
        if (!seen_[other]) continue;
        const Vec key = Linear(name + "key", rows_[other]);
        const Vec value = Linear(name + "value", rows_[other]);
        double score = 0;
        for (size_t i = 0; i < size; ++i) score += query[head * size + i] * key[head * size + i];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(size)));
        total += weight;
        for (size_t i = 0; i < size; ++i) sum[i] += weight * value[head * size + i];
      }
      for (size_t i = 0; i < size; ++i) result[head * size + i] = sum[i] / total;
    }
    return result;
  }

  Vec Linear(const std::string& name, const Vec& x) const {
    Vec y = Row(name + ".bias");
    for (size_t o = 0; o < y.size(); ++o) {
      const Vec weights = Row(name, static_cast<int>(o));
      for (size_t i = 0; i < x.size(); ++i) y[o] += weights[i] * x[i];
    }
    return y;
  }

  Vec Norm(const std::string& name, Vec x) const {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / x.size();
    for (const double v : x) variance += (v - mean) * (v - mean) / x.size();
    const Vec weight = Row(name + ".weight"), bias = Row(name + ".bias");
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / std::sqrt(variance + 1e-12) * weight[i] + bias[i];
    }
    return x;
  }

  static Vec Sum(Vec a, const Vec& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  // Row `row` of the matrix <name>.weight.
  Vec Row(const std::string& name, int row) const {
    const TensorView& matrix = file_->tensors().at(name + ".weight");
    const int64_t columns = matrix.shape[1];
    const auto* numbers = reinterpret_cast<const float*>(matrix.bytes.data()) + row * columns;
    return Vec(numbers, numbers + columns);
  }

  Vec Row(const std::string& vector) const {
    const TensorView& view = file_->tensors().at(vector);
    const auto* numbers = reinterpret_cast<const float*>(view.bytes.data());
    return Vec(numbers, numbers + view.shape[0]);
  }

  const bundle::v1::ModelBundleManifest manifest_;
  const std::unique_ptr<Safetensors> file_;
  std::vector<Vec> rows_;
  std::vector<bool> seen_;  // by the others
};

void RequireClose(const EmbeddingMatrix& actual, const Vec& expected) {
  REQUIRE(actual.rows() == 1);
  REQUIRE(actual.values().size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(actual.row(0)[i] == Approx(expected[i]).margin(2e-6));
  }
}

TEST_CASE("a VLDeformer's padding is of the segment that its bundle says") {
  for (const int padding_type : {0, 1}) {
    TinyFamily family = TinyVlDeformer();
    family.manifest.mutable_fixed_lengths()->set_tag_padding_type(padding_type);
    const TempDir store;
    const ModelBundle bundle = MakeTinyBundle(store.path(), family);
    const auto model = LoadModel(bundle, {});
    REQUIRE(model.ok());
    Referee referee(bundle);
    for (const int64_t regions : {1, 4, 9}) {
      INFO(padding_type << ", " << regions << " regions");
      ImageInput image = TinyImage(family, 0);
      REQUIRE(image.tags.empty());
      image.regions = TinyImage({"", {}, "", regions}, 0).regions;
      RequireClose(*(*model)->image_encoder()->Encode({image}, kCall),
                   referee.Image({kCls, kSep}, image.regions));
      image.tags = {"red", "fish"};
      RequireClose(*(*model)->image_encoder()->Encode({image}, kCall),
                   referee.Image({kCls, kRed, kFish, kSep}, image.regions));
      // Nothing to pad.
      image.tags = {"red", "fish", "red", "fish", "fish"};
      RequireClose(*(*model)->image_encoder()->Encode({image}, kCall),
                   referee.Image({kCls, kRed, kFish, kRed, kFish, kFish, kSep}, image.regions));
    }
    const Tokens text = *(*model)->Tokenize("red fish");
    RequireClose(*(*model)->text_encoder()->Encode({text}, kCall),
                 referee.Text({kCls, kRed, kFish, kSep}));
  }
}

TEST_CASE("a VLDeformer's embeddings are of the first row where its bundle says so") {
  TinyFamily family = TinyVlDeformer();
  const TempDir mean_store;
  Referee of_mean(MakeTinyBundle(mean_store.path(), family));
  family.manifest.mutable_embedding()->set_rows(bundle::v1::EmbeddingSpec::FIRST_ROW);
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const auto model = MustLoad(bundle);
  Referee referee(bundle);
  ImageInput image = TinyImage(family, 0);
  image.tags = {"red", "fish"};
  RequireClose(*model->image_encoder()->Encode({image}, kCall),
               referee.Image({kCls, kRed, kFish, kSep}, image.regions));
  const Tokens text = *model->Tokenize("red fish");
  const Vec first = referee.Text({kCls, kRed, kFish, kSep});
  RequireClose(*model->text_encoder()->Encode({text}, kCall), first);
  REQUIRE(std::fabs(first[0] - of_mean.Text({kCls, kRed, kFish, kSep})[0]) > 1e-3);
}

TEST_CASE("a VLDeformer's lengths are part of it") {
  const TinyFamily family = TinyVlDeformer();
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const auto model = MustLoad(bundle);
  const ImageInput image = TinyImage(family, 4);
  const auto seen = Seen(*model, "a bird", image);
  ModelBundle longer = bundle;
  longer.manifest.mutable_fixed_lengths()->set_text_length(13);
  longer.manifest.mutable_tokenizer()->set_max_token_count(13);
  REQUIRE(Farthest(Seen(*MustLoad(longer), "a bird", image), seen) > 1e-6);
  ModelBundle narrower = bundle;
  narrower.manifest.mutable_fixed_lengths()->set_region_count(8);
  REQUIRE(Farthest(Seen(*MustLoad(narrower), "a bird", image), seen) > 1e-6);
  narrower.manifest.mutable_tags()->set_max_token_count(8);
  REQUIRE(absl::StrContains(LoadModel(narrower, {}).status().message(), "tag_length"));
  ModelBundle padded = bundle;
  padded.manifest.mutable_fixed_lengths()->set_tag_padding_type(1);
  REQUIRE(Farthest(Seen(*MustLoad(padded), "a bird", image), seen) > 1e-6);
  ImageInput tagged = image;
  tagged.tags = {"fish", "fish"};
  REQUIRE(Farthest(Seen(*model, "a bird", tagged), seen) > 1e-6);
}

}  // namespace
}  // namespace sightline
