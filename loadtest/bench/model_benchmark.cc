// The transformer behind encoder and reranker, in each precision of this CPU: texts of 14 tokens,
// pictures of 36 regions, pairs of both.  Size 0 is the demo's model (4 layers of width 256), 1 is
// base size (12 of 768).  Weights are random: what they are costs nothing.
//
// flops_share counts the matrix products of the layers, and of the regions' projection where
// that is timed: what norms, softmaxes, heads and memory cost shows as the rest of it.  It is a
// share of what float32 can do at most, whatever the precision: 1 and more in a lower one.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/model.h"
#include "loadtest/bench/bench_main.h"
#include "loadtest/bench/bench_model.h"

namespace sightline {
namespace {

constexpr int kTextTokens = 14;
constexpr int kRegions = 36;
constexpr int kWords = 1000;

// Below a folder that is gone once it is loaded.
absl::StatusOr<std::shared_ptr<const Model>> MakeModel(
    const bundle::v1::ModelBundleManifest& manifest, const std::string& precision) {
  const std::string store =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/model_benchmark.", getpid());
  const auto remove_store = absl::MakeCleanup([&store] {
    std::error_code ignored;
    std::filesystem::remove_all(store, ignored);
  });
  ASSIGN_OR_RETURN(const ModelBundle bundle,
                   WriteBenchModel(store, manifest, kWords, WeightDtype::kFloat16));
  ModelOptions options;
  options.pool = &BenchPool();
  options.execution.precision = precision;
  return LoadModel(bundle, options);
}

// A model with something to encode.
struct Subject {
  bundle::v1::ModelBundleManifest manifest;
  std::shared_ptr<const Model> model;
  std::vector<ImageInput> images;
  std::string text;

  // Of one item of `rows` rows: six matrices a row and layer, and each row with each other.
  double Flops(double rows) const {
    const auto& spec = manifest.transformer();
    const double width = spec.hidden_size(), inner = spec.intermediate_size();
    return spec.layer_count() *
           (2 * rows * (4 * width * width + 2 * width * inner) + 4 * rows * rows * width);
  }
};

absl::StatusOr<const Subject*> SubjectOf(const std::string& precision, bool base_size) {
  static auto* const made = new std::map<std::pair<std::string, bool>, std::unique_ptr<Subject>>;
  std::unique_ptr<Subject>& subject = (*made)[{precision, base_size}];
  if (subject != nullptr) return subject.get();
  auto fresh = std::make_unique<Subject>();
  fresh->manifest = BenchManifest(base_size);
  ASSIGN_OR_RETURN(fresh->model, MakeModel(fresh->manifest, precision));
  fresh->images.resize(64);
  for (size_t i = 0; i < fresh->images.size(); ++i) {
    RegionSet& regions = fresh->images[i].regions;
    regions.count = kRegions;
    regions.feature_size = fresh->manifest.transformer().region_feature_size();
    for (int64_t k = 0; k < regions.count * regions.feature_size; ++k) {
      regions.features.push_back(static_cast<float>((k * 7 + i) % 13) / 13);
    }
  }
  std::vector<std::string> words;
  for (int i = 0; i < kTextTokens - 2; ++i) words.push_back(absl::StrCat("word", 31 * i % kWords));
  fresh->text = absl::StrJoin(words, " ");
  subject = std::move(fresh);
  return subject.get();
}

void EncodeTexts(benchmark::State& state, const std::string& precision) {
  const auto subject = SubjectOf(precision, state.range(0) == 1);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const TextEncoder& encoder = *(*subject)->model->text_encoder();
  const auto tokens = (*subject)->model->Tokenize((*subject)->text);
  if (!tokens.ok()) return state.SkipWithError(tokens.status().ToString().c_str());
  const std::vector<Tokens> texts(state.range(1), *tokens);
  Rounds rounds(&state, [&] { return encoder.Encode(texts, CallContext::Unbounded()).status(); });
  const double count = static_cast<double>(texts.size());
  rounds.Flops(count * (*subject)->Flops(kTextTokens));
  rounds.Items("texts_per_second", count);
}

void EncodeImages(benchmark::State& state, const std::string& precision) {
  const auto subject = SubjectOf(precision, state.range(0) == 1);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const ImageEncoder& encoder = *(*subject)->model->image_encoder();
  const auto images = absl::MakeConstSpan((*subject)->images).subspan(0, state.range(1));
  Rounds rounds(&state, [&] { return encoder.Encode(images, CallContext::Unbounded()).status(); });
  const double count = static_cast<double>(images.size());
  const auto& spec = (*subject)->manifest.transformer();
  const double projection = 2.0 * kRegions * spec.region_feature_size() * spec.hidden_size();
  rounds.Flops(count * ((*subject)->Flops(1 + kRegions) + projection));
  rounds.Items("pictures_per_second", count);
}

void Rerank(benchmark::State& state, const std::string& precision) {
  const auto subject = SubjectOf(precision, state.range(0) == 1);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const CrossEncoder& encoder = *(*subject)->model->cross_encoder();
  const auto text = TextFeatures(*(*subject)->model, (*subject)->text);
  const auto images = absl::MakeConstSpan((*subject)->images).subspan(0, state.range(1));
  auto features = encoder.PrepareImages(images, CallContext::Unbounded());
  if (!text.ok()) return state.SkipWithError(text.status().ToString().c_str());
  if (!features.ok()) return state.SkipWithError(features.status().ToString().c_str());
  for (ItemFeatures& image : *features) {
    image = *StoredAs(kDefaultFeatureDtype, std::move(image));
  }
  std::vector<ScoringPair> pairs;
  for (const ItemFeatures& image : *features) pairs.push_back({&*text, &image});
  Rounds rounds(&state, [&] { return encoder.Score(pairs, CallContext::Unbounded()).status(); });
  const double count = static_cast<double>(pairs.size());
  rounds.Flops(count * (*subject)->Flops(kTextTokens + kRegions));
  rounds.Items("pairs_per_second", count);
}

void Register(const char* name, void (*run)(benchmark::State&, const std::string&),
              const std::string& precision, const char* what, std::vector<int64_t> counts) {
  benchmark::RegisterBenchmark(absl::StrCat(name, "/", precision).c_str(), run, precision)
      ->ArgNames({"base", what})
      ->ArgsProduct({{0, 1}, std::move(counts)})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

const bool registered = [] {
  for (const std::string& precision : BenchPrecisions()) {
    Register("EncodeTexts", &EncodeTexts, precision, "texts", {1, 8, 32});
    Register("EncodeImages", &EncodeImages, precision, "pictures", {1, 16});
    Register("Rerank", &Rerank, precision, "pairs", {1, 20, 50});
  }
  return true;
}();

}  // namespace
}  // namespace sightline
