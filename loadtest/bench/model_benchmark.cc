// The transformer behind encoder and reranker, in each precision of this CPU: texts of 12 tokens,
// pictures of 36 regions, pairs of both.  Size 0 is the demo's model (4 layers of width 256), 1 is
// base size (12 of 768).  Weights are random: what they are costs nothing.
//
// flops_share counts the matrix products of the layers, and of the regions' projection where
// that is timed: what norms, softmaxes, heads and memory cost shows as the rest of it.  It is a
// share of what float32 can do at most, whatever the precision: 1 and more in a lower one.
// `Request` tells what the rest is, and the share of the precision's own peak; `LoneText` how often
// the weights could have been read in the time of one text.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/bundle/feature_dtype.h"
#include "common/kernels/aligned_buffer.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/model.h"
#include "loadtest/bench/bench_main.h"
#include "loadtest/bench/bench_model.h"

namespace sightline {
namespace {

constexpr int kTextTokens = 12;
constexpr int kRegions = 36;
constexpr int kWords = 1000;
constexpr int kLoneTexts = 60;  // for a median

// Below a folder that is gone once it is loaded.
absl::StatusOr<std::shared_ptr<const Model>> MakeModel(
    const bundle::v1::ModelBundleManifest& manifest, const std::string& precision,
    ComputePool* pool) {
  const std::string store =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/model_benchmark.", getpid());
  const auto remove_store = absl::MakeCleanup([&store] {
    std::error_code ignored;
    std::filesystem::remove_all(store, ignored);
  });
  ASSIGN_OR_RETURN(const ModelBundle bundle,
                   WriteBenchModel(store, manifest, kWords, WeightDtype::kFloat16));
  ModelOptions options;
  options.pool = pool;
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
  // The same where only its first row is read: of the last layer all keys and values, and the rest
  // of one row.
  double FirstRowFlops(double rows) const {
    const auto& spec = manifest.transformer();
    const double width = spec.hidden_size(), inner = spec.intermediate_size();
    const double layers = spec.layer_count();
    return Flops(rows) * (layers - 1) / layers + 2 * rows * 2 * width * width +
           2 * (2 * width * width + 2 * width * inner) + 4 * rows * width;
  }
};

absl::StatusOr<const Subject*> SubjectOf(const std::string& precision, bool base_size,
                                         ComputePool* pool = &BenchPool()) {
  using Key = std::tuple<std::string, bool, ComputePool*>;
  static auto* const made = new std::map<Key, std::unique_ptr<Subject>>;
  std::unique_ptr<Subject>& subject = (*made)[{precision, base_size, pool}];
  if (subject != nullptr) return subject.get();
  auto fresh = std::make_unique<Subject>();
  fresh->manifest = BenchManifest(base_size);
  ASSIGN_OR_RETURN(fresh->model, MakeModel(fresh->manifest, precision, pool));
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

// A text with pictures, as a reranker gets them.
struct Pairs {
  ItemFeatures text;
  std::vector<ItemFeatures> images;
  std::vector<ScoringPair> pairs;
};

absl::StatusOr<std::unique_ptr<const Pairs>> PairsOf(const Subject& subject, int64_t count) {
  auto made = std::make_unique<Pairs>();
  const auto images = absl::MakeConstSpan(subject.images).subspan(0, count);
  ASSIGN_OR_RETURN(made->text, TextFeatures(*subject.model, subject.text));
  ASSIGN_OR_RETURN(made->images,
                   subject.model->cross_encoder()->PrepareImages(images, CallContext::Unbounded()));
  for (ItemFeatures& image : made->images) {
    ASSIGN_OR_RETURN(image, StoredAs(kDefaultFeatureDtype, std::move(image)));
    made->pairs.push_back({&made->text, &image});
  }
  return made;
}

void Rerank(benchmark::State& state, const std::string& precision) {
  const auto subject = SubjectOf(precision, state.range(0) == 1);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const auto made = PairsOf(**subject, state.range(1));
  if (!made.ok()) return state.SkipWithError(made.status().ToString().c_str());
  const CrossEncoder& encoder = *(*subject)->model->cross_encoder();
  const std::vector<ScoringPair>& pairs = (*made)->pairs;
  Rounds rounds(&state, [&] { return encoder.Score(pairs, CallContext::Unbounded()).status(); });
  const double count = static_cast<double>(pairs.size());
  rounds.Flops(count * (*subject)->Flops(kTextTokens + kRegions));
  rounds.Items("pairs_per_second", count);
}

// The blocks of a model, with random weights that are the same in each.
kernels::BlockStack BlocksOf(const bundle::v1::TransformerSpec& spec,
                             const kernels::ProductKernel& kernel) {
  const int64_t width = spec.hidden_size(), inner = spec.intermediate_size();
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> weights(width * inner);
  for (float& weight : weights) weight = normal(generator);
  const std::vector<float> gain(width, 1);
  const float* const w = weights.data();
  const kernels::LinearWeights square = {w, w, width, width};
  const kernels::NormWeights norm = {gain.data(), w};
  kernels::BlockStack stack(
      kernel, {width, spec.head_count(), inner, static_cast<float>(spec.layer_norm_epsilon())});
  for (int i = 0; i < static_cast<int>(spec.layer_count()); ++i) {
    stack.Add(
        {square, square, square, square, norm, {w, w, inner, width}, {w, w, width, inner}, norm});
  }
  return stack;
}

absl::Duration TimeOf(absl::FunctionRef<void()> work) {
  const absl::Time start = Clock::Real()->Now();
  work();
  return Clock::Real()->Now() - start;
}

// One text of base size, by turns with one reading of as many bytes as its packed weights have, by
// the same threads: `readings` is how many of these the text took, by the medians of both.
void LoneText(benchmark::State& state, const std::string& precision) {
  const auto subject = SubjectOf(precision, /*base_size=*/true);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const TextEncoder& encoder = *(*subject)->model->text_encoder();
  const auto tokens = (*subject)->model->Tokenize((*subject)->text);
  if (!tokens.ok()) return state.SkipWithError(tokens.status().ToString().c_str());
  const std::vector<Tokens> texts(1, *tokens);
  const auto& kernel = *kernels::KernelFor(precision, kernels::ThisCpu());
  const int64_t bytes = BlocksOf((*subject)->manifest.transformer(), kernel).bytes();
  kernels::AlignedBuffer buffer(bytes);
  std::memset(buffer.data(), 1, bytes);  // so that every page is there
  std::vector<double> of_text, of_reading;
  absl::Status status;
  for (auto _ : state) {
    const absl::Duration time =
        TimeOf([&] { status = encoder.Encode(texts, CallContext::Unbounded()).status(); });
    of_text.push_back(absl::ToDoubleSeconds(time));
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    const auto* const data = reinterpret_cast<const char*>(buffer.data());
    of_reading.push_back(static_cast<double>(bytes) / MeasureReading(&BenchPool(), data, bytes));
  }
  const auto median = [](std::vector<double> seconds) {
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return seconds[seconds.size() / 2];
  };
  const double text = median(of_text), reading = median(of_reading);
  state.counters["weights_mb"] = static_cast<double>(bytes) * 1e-6;
  state.counters["text_ms"] = text * 1e3;
  state.counters["read_ms"] = reading * 1e3;
  state.counters["readings"] = text / reading;
}

// A request of 20 pairs; on one thread by turns with its blocks alone: what is not theirs is the
// rest, from checking features to embedding the text, pooling and the head.  (Threads share pairs
// out before there are blocks.)  peak_share is of the kernel's instruction, by as many threads at
// once; what the last layer does not compute is not counted.
void Request(benchmark::State& state, const std::string& precision) {
  constexpr int64_t kPairs = 20, kRows = kTextTokens + kRegions;
  static ComputePool* const one = new ComputePool(1);
  const bool lone = state.range(0) == 1;
  ComputePool* const pool = lone ? one : &BenchPool();
  const auto subject = SubjectOf(precision, /*base_size=*/true, pool);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const auto made = PairsOf(**subject, kPairs);
  if (!made.ok()) return state.SkipWithError(made.status().ToString().c_str());
  const auto& spec = (*subject)->manifest.transformer();
  const int64_t width = spec.hidden_size();
  const auto& kernel = *kernels::KernelFor(precision, kernels::ThisCpu());
  const kernels::BlockStack stack = BlocksOf(spec, kernel);
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  std::vector<float> rows(kPairs * kRows * width);
  for (float& number : rows) number = normal(generator);
  const std::vector<int64_t> lengths(kPairs, kRows);
  const kernels::RowPart part = {rows.data(), Dtype::kFloat32, nullptr, kPairs * kRows};
  std::vector<float> out(kPairs * width);
  absl::Duration of_request, of_blocks;
  for (auto _ : state) {
    absl::Status status;
    of_request += TimeOf([&] {
      const CrossEncoder& encoder = *(*subject)->model->cross_encoder();
      status = encoder.Score((*made)->pairs, CallContext::Unbounded()).status();
    });
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    if (!lone) continue;
    of_blocks += TimeOf([&] {
      kernels::TeamOfOne team;
      stack.Run({&part, 1, nullptr, lengths.data(), kPairs}, /*first_rows_only=*/true, &team,
                out.data());
    });
  }
  const auto rounds = static_cast<double>(state.iterations());
  const double request = absl::ToDoubleSeconds(of_request) / rounds;
  const double blocks = absl::ToDoubleSeconds(of_blocks) / rounds;
  const double operations = kPairs * (*subject)->FirstRowFlops(kRows), peak = PeakOf(kernel, pool);
  state.counters["request_ms"] = request * 1e3;
  state.counters["operations_per_second"] = operations / request;
  state.counters["peak_share"] = operations / request / peak;
  if (!lone) return;
  state.counters["blocks_ms"] = blocks * 1e3;
  state.counters["rest_ms"] = (request - blocks) * 1e3;
  state.counters["blocks_peak_share"] = operations / blocks / peak;
}

void Register(const char* name, void (*run)(benchmark::State&, const std::string&),
              const std::string& precision, const char* what, std::vector<int64_t> counts) {
  benchmark::RegisterBenchmark(absl::StrCat(name, "/", precision).c_str(), run, precision)
      ->ArgNames({"base", what})
      ->ArgsProduct({{0, 1}, std::move(counts)})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

// One, and all.
std::vector<int64_t> Threads() {
  const int64_t all = UsableCores();
  return all == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, all};
}

const bool registered = [] {
  for (const std::string& precision : BenchPrecisions()) {
    Register("EncodeTexts", &EncodeTexts, precision, "texts", {1, 8, 32});
    Register("EncodeImages", &EncodeImages, precision, "pictures", {1, 16});
    Register("Rerank", &Rerank, precision, "pairs", {1, 20, 50});
    benchmark::RegisterBenchmark(absl::StrCat("LoneText/", precision).c_str(), &LoneText, precision)
        ->Iterations(kLoneTexts)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(absl::StrCat("Request/", precision).c_str(), &Request, precision)
        ->ArgName("threads")
        ->ArgsProduct({Threads()})
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace sightline
