// How long a model takes for what requests ask of it, whole: embeddings, packing, blocks, pooler
// and head, over the texts and the stored features of pictures that a server has.
//
//   model_check --device 0 --precision bfloat16 --json model.json STORE/models/ID
//
// BUNDLE is the folder of a model that encodes and reranks, as `sightlinectl init-model` makes one.
// Ends with 0 if every answer is finite and the same each time, with 1 if not, and with 3 where
// there is no GPU that can be used.  `--device cpu` times the CPU's own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/item_features.h"
#include "common/bundle/model_bundle.h"
#include "common/embedding/embedding_matrix.h"
#include "common/image/image_input.h"
#include "common/kernels/device_stack.h"
#include "common/models/execution.h"
#include "common/models/inference.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/model.h"
#include "deploy/gpu/check_output.h"
#include "nlohmann/json.hpp"

namespace sightline {
namespace {

// A question's text, and one that makes 50 rows with a picture's regions.
constexpr int kTokensAlone = 12;
constexpr int kTokensOfPair = 14;
constexpr int kRegions = 36;
// Of one request, unless it is the large one.
constexpr int kPairs = 20;

// Requests that are answered in one call, and sequences of each.
struct Load {
  const char* what;
  int requests;
  int sequences;
};
constexpr Load kText = {"a text of 12 tokens", 1, 1};
constexpr Load kReranking[] = {
    {"a request of 20 pairs", 1, kPairs},    {"a request of 100 pairs", 1, 100},
    {"4 requests of 20 pairs", 4, kPairs},   {"8 requests of 20 pairs", 8, kPairs},
    {"16 requests of 20 pairs", 16, kPairs},
};
constexpr int kMostRequests = 16;

struct Options {
  int device = 0;  // -1: the CPU
  std::string precision = "float32";
  int rounds = 31;  // of which the median is told
  std::string json;
  std::string bundle;
};

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "model_check: %s\nusage: model_check [--device N|cpu] [--precision "
               "float32|bfloat16] [--rounds N] [--json FILE] BUNDLE\n",
               std::string(problem).c_str());
  std::exit(2);
}

int ReadNumber(absl::string_view name, absl::string_view text, int least) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < least || value > 255) {
    Usage(absl::StrCat(name, " is '", text, "'; it is a number from ", least, " to 255"));
  }
  return value;
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  if (argc < 2 || argc % 2 != 0) Usage("name one BUNDLE, and each option with its value");
  options.bundle = argv[argc - 1];
  for (int i = 1; i + 1 < argc; i += 2) {
    const absl::string_view name = argv[i], value = argv[i + 1];
    if (name == "--device") {
      options.device = value == "cpu" ? -1 : ReadNumber(name, value, 0);
    } else if (name == "--precision" && (value == "float32" || value == "bfloat16")) {
      options.precision = std::string(value);
    } else if (name == "--rounds") {
      options.rounds = ReadNumber(name, value, 1);
    } else if (name == "--json") {
      options.json = std::string(value);
    } else {
      Usage(absl::StrCat("cannot read '", name, " ", value, "'"));
    }
  }
  return options;
}

constexpr const char* kWords[] = {"a",   "red",   "fish", "the", "blue", "sky",
                                  "two", "green", "tree", "and", "old",  "house"};
constexpr int kWordCount = std::size(kWords);

// A text that the model reads as so many tokens; each `number` has another one.
Tokens TextOf(const Model& model, int64_t tokens, int number) {
  std::string text;
  // From another word on, and beyond as many texts in longer steps, which pass over none.
  const int step = number < kWordCount ? 1 : 5;
  for (int i = 0; i < 8 * kWordCount; ++i) {
    const std::string longer = absl::StrCat(text, " ", kWords[(number + i * step) % kWordCount]);
    Tokens read = ValueOrDie(model.Tokenize(longer), 1);
    const auto found = static_cast<int64_t>(read.ids.size());
    if (found == tokens) return read;
    if (found < tokens) text = longer;
  }
  Die(absl::InvalidArgumentError(absl::StrCat("the model reads no text as ", tokens, " tokens")),
      1);
}

std::vector<ImageInput> MadeUpImages(int count, int feature_size) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<ImageInput> images(count);
  for (ImageInput& image : images) {
    RegionSet& regions = image.regions;
    regions.count = kRegions;
    regions.feature_size = feature_size;
    regions.features.resize(int64_t{kRegions} * feature_size);
    for (float& number : regions.features) number = normal(random);
    for (int i = 0; i < kRegions; ++i) {
      const int row = i / 6;
      const float left = static_cast<float>(i % 6) / 8, top = static_cast<float>(row) / 8;
      regions.boxes.insert(regions.boxes.end(), {left, top, left + 0.25f, top + 0.25f});
    }
  }
  return images;
}

// What requests bring, as a server has it before it computes.
struct Inputs {
  std::vector<Tokens> question;
  std::vector<ItemFeatures> texts;     // one a request
  std::vector<ItemFeatures> pictures;  // as they are stored

  // Of no two requests the same text or picture.
  std::vector<ScoringPair> PairsOf(const Load& load) const {
    std::vector<ScoringPair> pairs;
    for (int i = 0; i < load.requests * load.sequences; ++i) {
      pairs.push_back({&texts[i / load.sequences], &pictures[i]});
    }
    return pairs;
  }
};

Inputs MakeInputs(const Model& model) {
  Inputs inputs;
  inputs.question = {TextOf(model, kTokensAlone, 0)};
  for (int i = 0; i < kMostRequests; ++i) {
    inputs.texts.push_back(model.cross_encoder()->PrepareText(TextOf(model, kTokensOfPair, i)));
  }
  inputs.pictures =
      ValueOrDie(model.cross_encoder()->PrepareImages(
                     MadeUpImages(kMostRequests * kPairs, model.region_feature_sizes().front()),
                     CallContext::Unbounded()),
                 1);
  for (ItemFeatures& picture : inputs.pictures) {
    picture = ValueOrDie(StoredAs(kDefaultFeatureDtype, std::move(picture)), 1);
  }
  return inputs;
}

// Times an answer after the first, which all others should be; a row of "passes".
nlohmann::json Check(const Options& options, const char* work, const Load& load, int64_t length,
                     const std::function<std::vector<float>()>& answer) {
  const std::vector<float> first = answer();
  bool same = true;
  const double median =
      MedianSeconds(options.rounds, [&](int /*round*/) { same = answer() == first && same; });
  const bool finite = !first.empty() && std::all_of(first.begin(), first.end(),
                                                    [](float x) { return std::isfinite(x); });
  const std::string wrong = !finite ? "numbers that are not finite"
                            : !same ? "other numbers in another round"
                                    : "";
  std::printf("  %-24s  %9.3f ms  %8.0f requests a second  %s\n", load.what, median * 1e3,
              load.requests / median,
              wrong.empty() ? "the same each time" : ("WRONG: " + wrong).c_str());
  return {{"load", load.what},
          {"work", work},
          {"precision", options.precision},
          {"requests", load.requests},
          {"sequences", load.requests * load.sequences},
          {"length", length},
          {"seconds", median},
          {"wrong", wrong}};
}

nlohmann::json CheckAll(const Options& options, const Model& model) {
  const Inputs inputs = MakeInputs(model);
  const CallContext call = CallContext::Unbounded();
  nlohmann::json passes;
  passes.push_back(Check(options, "encode", kText, kTokensAlone, [&] {
    const EmbeddingMatrix found =
        ValueOrDie(model.text_encoder()->Encode(inputs.question, call), 1);
    return std::vector<float>(found.values().begin(), found.values().end());
  }));
  for (const Load& load : kReranking) {
    const std::vector<ScoringPair> pairs = inputs.PairsOf(load);
    passes.push_back(Check(options, "score", load, model.cross_encoder()->Cost(pairs[0]), [&] {
      return ValueOrDie(model.cross_encoder()->Score(pairs, call), 1);
    }));
  }
  return passes;
}

int Run(const Options& options) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  ModelOptions load;
  load.pool = &pool;
  load.execution.precision = options.precision;
  std::string name = "the CPU";
  if (options.device >= 0) {
    load.execution.devices = ValueOrDie(kernels::CudaStackDevices(), 3);
    name = ValueOrDie(load.execution.devices->Describe(options.device), 3).name;
    load.execution.device = absl::StrCat("cuda:", options.device);
  }
  const ModelBundle bundle =
      ValueOrDie(OpenBundleFolder(options.bundle, /*verify_checksums=*/false), 1);
  const std::shared_ptr<const Model> model = ValueOrDie(LoadModel(bundle, load), 1);
  if (model->text_encoder() == nullptr || model->cross_encoder() == nullptr ||
      model->region_feature_sizes().empty()) {
    Die(absl::InvalidArgumentError(
            absl::StrCat(options.bundle,
                         " has no encoder of texts, no cross-encoder, or takes no ready regions")),
        1);
  }
  std::printf("%s, %s, model %s\n", name.c_str(), options.precision.c_str(), bundle.id.c_str());
  const nlohmann::json passes = CheckAll(options, *model);
  if (!WriteJson(options.json, {{"program", "model_check"},
                                {"device", name},
                                {"model", bundle.id},
                                {"rounds", options.rounds},
                                {"passes", passes}})) {
    return 1;
  }
  const bool good = std::all_of(passes.begin(), passes.end(),
                                [](const nlohmann::json& pass) { return pass["wrong"] == ""; });
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  sightline::ShowEachLine();
  return sightline::Run(sightline::ReadOptions(argc, argv));
}
