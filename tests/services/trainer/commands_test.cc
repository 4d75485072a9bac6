#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/dataset/region_file.h"
#include "common/formats/safetensors.h"
#include "common/models/init_model.h"
#include "common/models/oscar/small_manifest.h"
#include "services/trainer/extract_command.h"
#include "services/trainer/learn_command.h"
#include "services/trainer/prepare_command.h"
#include "services/trainer/train_command.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/image/encode.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

class Fixture {
 public:
  int Run(const Command& command, const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return command.run(args, {out_, err_});
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  // A folder of `count` pictures with captions, and a file that is none.  With `splits` every
  // fourth is said to be there for validation, the others to learn from.
  std::string MakeCorpus(int count, bool splits = false) {
    const std::string folder = dir.File("pictures");
    REQUIRE(MakeDirectories(folder).ok());
    std::string captions;
    for (int i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(i) + ".png";
      REQUIRE(WriteFileAtomically(folder + "/" + name, EncodePng(Gradient(20 + i, 30))).ok());
      const std::string split = !splits      ? ""
                                : i % 4 == 0 ? R"(, "split": "validation")"
                                             : R"(, "split": "train")";
      captions += R"({"path": ")" + name + R"(", "captions": ["picture number )" +
                  std::to_string(i) + R"("])" + split + "}\n";
    }
    REQUIRE(WriteFileAtomically(folder + "/broken.png", "no picture").ok());
    REQUIRE(WriteFileAtomically(folder + "/captions.jsonl", captions).ok());
    return folder;
  }

  TempDir dir;

 private:
  std::ostringstream out_, err_;
};

TEST_CASE_METHOD(Fixture, "prepare turns a folder of pictures into a training set") {
  const std::string set = dir.File("set");
  const int status = Run(kPrepareCommand, {"--out", set, "--corpus", "folder:" + MakeCorpus(4),
                                           "--languages", "en", "--threads", "2"});
  INFO(err());
  REQUIRE(status == kSuccess);
  REQUIRE(absl::StrContains(out(), "4 with captions; 1 skipped"));
  for (const char* name : {"cache.container", "items.jsonl", "skipped.jsonl", "vocab.txt"}) {
    REQUIRE(FileExists(set + "/" + name));
  }
}

TEST_CASE_METHOD(Fixture, "prepare tells mistakes of the command line") {
  REQUIRE(Run(kPrepareCommand, {}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "--out DIR"));
  REQUIRE(Run(kPrepareCommand, {"--out", dir.File("x"), "--thread", "2"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "threads"));
  REQUIRE(Run(kPrepareCommand, {"--out", dir.File("x"), "--corpus", "stumps"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "stumps"));
  REQUIRE(Run(kPrepareCommand, {"--out", dir.File("x"), "--languages", "en,en"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "en,en"));
  REQUIRE(Run(kPrepareCommand, {"--out", dir.File("x"), "--corpus", "folder:/nowhere"}) ==
          kFailure);
  REQUIRE(absl::StrContains(err(), "/nowhere"));
}

TEST_CASE_METHOD(Fixture, "extract finds regions in a prepared set's pictures and changed copies") {
  const std::string set = dir.File("set"), out = dir.File("set.regions");
  REQUIRE(Run(kPrepareCommand, {"--out", set, "--corpus", "folder:" + MakeCorpus(4), "--languages",
                                "en", "--threads", "2"}) == kSuccess);
  const auto model = InitModel(dir.File("store"), SmallOscarManifest(),
                               *ReadFile(set + "/vocab.txt"), InitOptions());
  INFO(model.status().ToString());
  REQUIRE(model.ok());
  const std::string changes = dir.File("train.yaml");
  REQUIRE(WriteFileAtomically(changes, "data: elsewhere\naugment: {shift: 0.2}\n").ok());
  const int status =
      Run(kExtractCommand, {"--model", model->directory, "--data", set, "--changed-copies", "2",
                            "--changes", changes, "--out", out, "--threads", "2"});
  INFO(err());
  REQUIRE(status == kSuccess);
  const auto file = *RegionFile::Open(out);
  int64_t plain = 0, changed = 0, train = 0;
  for (int64_t i = 0; i < file->item_count(); ++i) {
    const ItemLine line = *file->Item(i);
    REQUIRE(absl::StartsWith(line.captions[0].text, "picture number "));
    const bool is_copy = absl::StrContains(line.id, "~");
    ++(is_copy ? changed : plain);
    if (!is_copy && line.split == Split::kTrain) ++train;
  }
  auto manifest = SmallOscarManifest();
  manifest.clear_grid_extractor();
  const auto blind =
      InitModel(dir.File("store"), manifest, *ReadFile(set + "/vocab.txt"), InitOptions());
  INFO(blind.status().ToString());
  REQUIRE(blind.ok());
  REQUIRE(Run(kExtractCommand, {"--model", blind->directory, "--data", set, "--out", out}) ==
          kFailure);
  REQUIRE(absl::StrContains(err(), "finds no regions in pictures"));
  REQUIRE(plain == 4);
  REQUIRE(changed == 2 * train);
  REQUIRE(train > 0);
}

// The weights whose names begin with `prefix`, by name.
std::map<std::string, std::string> Weights(const ModelBundle& bundle, absl::string_view prefix) {
  const std::string bytes = *ReadFile(bundle.FilePath(kWeightsFile));
  const auto file = *Safetensors::FromBytes(bytes);
  std::map<std::string, std::string> weights;
  for (const auto& [name, view] : file->tensors()) {
    if (absl::StartsWith(name, prefix)) weights[name] = std::string(view.bytes);
  }
  return weights;
}

TEST_CASE_METHOD(Fixture, "what is extracted is learnt from, and the grid stands still") {
  const std::string set = dir.File("set"), regions = dir.File("set.regions");
  const std::string recipe = dir.File("recipe.yaml"), store = dir.File("store");
  REQUIRE(
      Run(kPrepareCommand, {"--out", set, "--corpus", "folder:" + MakeCorpus(40, /*splits=*/true),
                            "--languages", "en", "--threads", "2"}) == kSuccess);
  const auto start =
      InitModel(store, SmallOscarManifest(), *ReadFile(set + "/vocab.txt"), InitOptions());
  REQUIRE(start.ok());
  int status = Run(kExtractCommand,
                   {"--store", store, "--model", start->id, "--data", set, "--out", regions});
  INFO(err());
  REQUIRE(status == kSuccess);
  REQUIRE(WriteFileAtomically(recipe, R"(
tasks:
  - {objective: contrastive, batch: 8}
  - {objective: pairwise, batch: 4}
steps: 4
rate: {peak: 1.0e-3, warmup_steps: 0}
develop_every: 4
)")
              .ok());
  status = Run(kLearnCommand,
               {"--recipe", recipe, "--start", start->id, "--corpus", "regions:" + regions,
                "--store", store, "--out", dir.File("run"), "--device", "cpu", "--threads", "1"});
  INFO(err());
  REQUIRE(status == kSuccess);
  const std::string id = out().substr(0, 64);
  const auto learnt = OpenModelBundle(ModelDirectory(store, id), /*verify_checksums=*/true);
  INFO(learnt.status().ToString());
  REQUIRE(learnt.ok());
  REQUIRE(!Weights(*learnt, "grid.").empty());
  REQUIRE(Weights(*learnt, "grid.") == Weights(*start, "grid."));
  REQUIRE(Weights(*learnt, "bert.") != Weights(*start, "bert."));
  // So regions that were found before fit what was learnt, too.
  const std::string again = dir.File("again.regions");
  REQUIRE(Run(kExtractCommand, {"--store", store, "--model", id, "--data", set, "--out", again}) ==
          kSuccess);
  REQUIRE(*ReadFile(again) == *ReadFile(regions));
}

TEST_CASE_METHOD(Fixture, "extract tells mistakes of the command line") {
  const std::vector<std::string> usual = {"--model", "m", "--out", "o"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), usual.begin(), usual.end());
    return Run(kExtractCommand, more);
  };
  REQUIRE(run({}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "either --corpus or --data"));
  REQUIRE(run({"--corpus", "stamps", "--data", "d"}) == kUsageError);
  REQUIRE(run({"--data", "d", "--languages", "en"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "when it was prepared"));
  REQUIRE(run({"--data", "d", "--changed-copies", "2"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "both, or neither"));
  REQUIRE(run({"--data", "d", "--changed-copies", "2", "--changes", "/nowhere"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "/nowhere"));
  REQUIRE(run({"--corpus", "stamps", "--changed-copies", "2", "--changes", "f"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "of pictures of --data"));
}

constexpr char kTinyM3p[] = R"({
  "family": "m3p",
  "tokenizer": {"kind": "SENTENCEPIECE", "vocabularyFile": "sentencepiece.model",
                "maxTokenCount": 12},
  "embedding": {"dimension": 16, "metric": "COSINE"},
  "transformer": {"layerCount": 1, "hiddenSize": 16, "headCount": 2, "intermediateSize": 16,
                  "positionCount": 32, "tokenTypeCount": 1, "regionFeatureSize": 10,
                  "maxRegionCount": 8, "layerNormEpsilon": 1e-12}
})";

TEST_CASE_METHOD(Fixture,
                 "of a model that reads regions prepare makes the vocabulary it begins by") {
  const std::string model = dir.File("m3p.json"), regions = dir.File("learnt.regions");
  const std::string texts = dir.File("texts");
  REQUIRE(WriteFileAtomically(model, kTinyM3p).ok());
  REQUIRE(WriteFileAtomically(texts, "two red fish\n").ok());
  const std::vector<RegionFileItem> items = SomeRegionItems(5, 10);
  REQUIRE(WriteRegionFile(regions, 5, Dtype::kFloat16, [&](int64_t i) {
            return absl::StatusOr<RegionFileItem>(items[i]);
          }).ok());
  const int status = Run(kPrepareCommand, {"--out", dir.File("set"), "--model-config", model,
                                           "--corpus", "regions:" + regions, "--text", texts});
  INFO(err());
  REQUIRE(status == kSuccess);
  REQUIRE(absl::StrContains(out(), "SENTENCEPIECE"));
  REQUIRE(absl::StrContains(out(), "captions and 1 lines"));
  const auto manifest = ReadModelConfig(model);
  const auto bundle =
      InitModel(dir.File("store"), *manifest, *ReadFile(dir.File("set/vocab.txt")), {});
  INFO(bundle.status().ToString());
  REQUIRE(bundle.ok());
  // Without pictures there is nothing else to make.
  REQUIRE_FALSE(FileExists(dir.File("set/cache.container")));
}

TEST_CASE_METHOD(Fixture, "prepare refuses flags that say nothing to the model") {
  const std::string model = dir.File("m3p.json");
  REQUIRE(WriteFileAtomically(model, kTinyM3p).ok());
  const auto refused = [&](std::vector<std::string> args, const char* why) {
    args.insert(args.end(), {"--out", dir.File("set")});
    REQUIRE(Run(kPrepareCommand, args) == kFailure);
    INFO(err());
    REQUIRE(absl::StrContains(err(), why));
    REQUIRE_FALSE(FileExists(dir.File("set")));
  };
  refused({"--model-config", model, "--learn-names"},
          "--learn-names is for a model that learns from pictures");
  refused({"--model-config", model, "--threads", "2"}, "--threads is for a model");
  refused({"--model-config", model, "--vocabulary", "v"}, "--vocabulary is for a model");
  refused({"--text", "t"}, "--text is for a model that learns from regions");
  refused({"--min-count", "3"}, "--min-count is for a model that learns from regions");
}

TEST_CASE_METHOD(Fixture, "train checks a configuration and stops") {
  const std::string config = dir.File("train.yaml");
  REQUIRE(WriteFileAtomically(config, "data: d\nbi: {epochs: 3}\n").ok());
  REQUIRE(Run(kTrainCommand, {"--config", config, "--out", "o", "--store", "s", "--check"}) ==
          kSuccess);
  REQUIRE(out() == "the configuration is valid\n");
  REQUIRE(Run(kTrainCommand, {"--config", config, "--check"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "out: is required"));
  REQUIRE(absl::StrContains(err(), "store: is required"));
  REQUIRE(Run(kTrainCommand, {"words"}) == kUsageError);
}

TEST_CASE_METHOD(Fixture, "train needs a folder that prepare has written") {
  REQUIRE(Run(kTrainCommand, {"--data", dir.path(), "--out", dir.File("o"), "--store",
                              dir.File("s")}) == kFailure);
  REQUIRE(absl::StrContains(err(), "trainer prepare --out"));
}

// Few and small: what it learns is no matter, that it ends in a bundle is.
constexpr char kTinyModel[] = R"({
  "family": "oscar",
  "tokenizer": {"kind": "WORDPIECE", "vocabularyFile": "vocab.txt", "lowercase": true,
                "maxTokenCount": 12},
  "embedding": {"dimension": 16, "metric": "COSINE"},
  "crossEncoder": {"scoreKind": "softmax_match", "combination": "replace"},
  "transformer": {"layerCount": 1, "hiddenSize": 16, "headCount": 2, "intermediateSize": 16,
                  "positionCount": 16, "tokenTypeCount": 2, "regionFeatureSize": 14,
                  "maxRegionCount": 16, "regionLayerNorm": true, "layerNormEpsilon": 1e-12},
  "gridExtractor": {"imageSize": 16, "stages": [{"channelCount": 8}, {"channelCount": 8}],
                    "mean": [0.5, 0.5, 0.5], "standardDeviation": [0.5, 0.5, 0.5]}
})";

TEST_CASE_METHOD(Fixture, "prepare, then train, ends in a bundle; again, it is the same one") {
  const std::string model = dir.File("model.json"), set = dir.File("set");
  const std::string config = dir.File("train.yaml"), run = dir.File("run");
  REQUIRE(WriteFileAtomically(model, kTinyModel).ok());
  REQUIRE(WriteFileAtomically(config, R"(
threads: 1
device: cpu
combination: replace
bi: {epochs: 2, batch_size: 4, distractors: 0}
joint: {epochs: 1, queries: 2, negatives: 2, random_negatives: 1, mined: 2}
validation: {every: 0, depth: 3}
)")
              .ok());
  REQUIRE(Run(kPrepareCommand, {"--out", set, "--corpus", "folder:" + MakeCorpus(40),
                                "--model-config", model, "--languages", "en"}) == kSuccess);
  const std::vector<std::string> train = {
      "--config", config,           "--data", set,       "--out",
      run,        "--model-config", model,    "--store", dir.File("store")};
  const int status = Run(kTrainCommand, train);
  INFO(err());
  REQUIRE(status == kSuccess);
  const std::string id = out().substr(0, 64);
  REQUIRE(out() == id + "\n");
  REQUIRE(FileExists(dir.File("store/models/") + id + "/weights.safetensors"));
  REQUIRE(absl::StrContains(*ReadFile(run + "/metrics.jsonl"), R"("event":"validation")"));
  // Everything is done already; the last checkpoint says so.
  REQUIRE(Run(kTrainCommand, train) == kSuccess);
  REQUIRE(out() == id + "\n");
}

}  // namespace
}  // namespace sightline
