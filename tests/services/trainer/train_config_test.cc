#include "services/trainer/train_config.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kPaths[] = "data: d\nout: o\nstore: s\n";

absl::StatusOr<TrainConfig> Read(const std::string& yaml, const TrainOverrides& overrides = {}) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(yaml, "train.yaml");
  REQUIRE(file.ok());
  return ReadTrainConfig(&*file, overrides);
}

// "name=value" of every option that decides the weights.
std::vector<std::pair<std::string, std::string>> Described(const TrainingOptions& options) {
  std::vector<std::pair<std::string, std::string>> described;
  for (const auto line :
       absl::StrSplit(DescribeTrainingOptions(options), '\n', absl::SkipEmpty())) {
    described.push_back(absl::StrSplit(line, absl::MaxSplits('=', 1)));
  }
  return described;
}

// Another value of `name` than `value` that is as good.
std::string AnotherThan(const std::string& name, const std::string& value) {
  // The only counts that are 0; the others are shares.
  if (name == "bi.concepts" || name == "text.epochs") return "2";
  const std::vector<std::pair<std::string, std::string>> words = {
      {"float32", "bfloat16"},  {"bfloat16", "float32"}, {"cosine", "linear"},
      {"contrastive", "hinge"}, {"true", "false"},       {"false", "true"},
      {"matrices", "by_name"}};
  for (const auto& [word, other] : words) {
    if (value == word) return other;
  }
  int64_t whole = 0;
  if (absl::SimpleAtoi(value, &whole) && whole > 0) return absl::StrCat(whole + 1);
  return "0.25";
}

// "a.b.c" and a value as YAML.
std::string Nested(const std::string& name, const std::string& value) {
  std::string yaml, indent;
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StrAppend(&yaml, indent, parts[i], ":", i + 1 < parts.size() ? "\n" : " ");
    indent += "  ";
  }
  return absl::StrCat(yaml, value, "\n");
}

TEST_CASE("paths alone give the defaults") {
  const auto config = Read(kPaths);
  INFO(config.status());
  REQUIRE(config.ok());
  REQUIRE(config->data == "d");
  REQUIRE(config->out == "o");
  REQUIRE(config->store == "s");
  REQUIRE(config->device == "auto");
  REQUIRE(config->checkpoint_every == absl::Minutes(10));
  REQUIRE(DescribeTrainingOptions(config->options) == DescribeTrainingOptions(TrainingOptions()));
}

TEST_CASE("every option that decides the weights has a key of its own name") {
  const auto defaults = Described(TrainingOptions());
  REQUIRE(defaults.size() > 30);
  for (size_t i = 0; i < defaults.size(); ++i) {
    const auto& [name, value] = defaults[i];
    // These need other options to change with them: one wrong pair for each right one; decay
    // by steps; the other loss.
    if (name == "joint.loss" || name == "bi.hinge_margin" || absl::EndsWith(name, ".drop_every")) {
      continue;
    }
    const std::string other = AnotherThan(name, value);
    // "auto" excludes with_validation.
    const auto config = Read(absl::StrCat(kPaths, "combination: replace\n", Nested(name, other)));
    INFO(name << ": " << other << "  " << config.status());
    REQUIRE(config.ok());
    const auto described = Described(config->options);
    for (size_t k = 0; k < defaults.size(); ++k) {
      INFO("changes " << described[k].first);
      REQUIRE((described[k] != defaults[k]) == (k == i));
    }
  }
}

TEST_CASE("a rate that drops by steps is read in every stage") {
  for (const char* stage : {"text", "bi", "joint"}) {
    const auto config =
        Read(absl::StrCat(kPaths, stage, ":\n  rate:\n    decay: step\n    drop_every: 300\n"));
    INFO(stage << "  " << config.status());
    REQUIRE(config.ok());
    const std::string text = DescribeTrainingOptions(config->options);
    REQUIRE(absl::StrContains(text, absl::StrCat(stage, ".rate.decay=step\n")));
    REQUIRE(absl::StrContains(text, absl::StrCat(stage, ".rate.drop_every=300\n")));
  }
}

TEST_CASE("a margin is read of the loss that has one") {
  const auto config = Read(absl::StrCat(kPaths, "bi: {loss: hinge, hinge_margin: 0.25}\n"));
  INFO(config.status());
  REQUIRE(config.ok());
  REQUIRE(config->options.bi.hinge_margin == 0.25);
}

TEST_CASE("options that do not decide the weights are read, too") {
  const auto config = Read(absl::StrCat(kPaths, R"(
model_config: m.json
start: fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210
retriever: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
description: of mine
device: cpu
threads: 3
checkpoint_every: 30s
report_every: 7
joint: {loss: pairwise, negatives: 1, random_negatives: 1}
validation: {every: 2, training_queries: 11, depth: 9}
combination: add_lambda
combination_lambda: 0.25
)"));
  INFO(config.status());
  REQUIRE(config.ok());
  REQUIRE(config->model_config == "m.json");
  REQUIRE(absl::StartsWith(config->start, "fedc"));
  REQUIRE(absl::StartsWith(config->retriever, "0123"));
  REQUIRE(config->description == "of mine");
  REQUIRE(config->device == "cpu");
  REQUIRE(config->threads == 3);
  REQUIRE(config->checkpoint_every == absl::Seconds(30));
  REQUIRE(config->report_every == 7);
  REQUIRE(config->options.joint.loss == CrossLoss::kPairwise);
  REQUIRE(config->options.validation.every == 2);
  REQUIRE(config->options.validation.training_queries == 11);
  REQUIRE(config->options.validation.depth == 9);
  REQUIRE(config->options.combination == "add_lambda");
  REQUIRE(config->options.combination_lambda == 0.25);
}

TEST_CASE("flags win over the file and can stand in for it") {
  TrainOverrides overrides;
  overrides.data = "D";
  overrides.out = "O";
  overrides.store = "S";
  overrides.device = "cuda:1";
  overrides.threads = 5;
  overrides.seed = 9;
  overrides.model_config = "M";
  overrides.retriever = std::string(64, 'a');
  overrides.start = std::string(64, 'b');
  for (const std::string& yaml :
       {std::string(), absl::StrCat(kPaths, "device: cpu\nthreads: 2\nseed: 3\n")}) {
    const auto config = Read(yaml, overrides);
    INFO(config.status());
    REQUIRE(config.ok());
    REQUIRE(config->data + config->out + config->store + config->model_config == "DOSM");
    REQUIRE(config->retriever == overrides.retriever);
    REQUIRE(config->start == overrides.start);
    REQUIRE(config->device == "cuda:1");
    REQUIRE(config->threads == 5);
    REQUIRE(config->options.seed == 9);
  }
}

TEST_CASE("every problem is told at once") {
  const absl::Status status = Read(R"(
data: d
stroe: s
threads: many
start: latest
bi: {batch_size: 0, loss: hinges}
joint: {rate: {peak: -1}}
)")
                                  .status();
  REQUIRE(absl::IsInvalidArgument(status));
  for (const char* part :
       {"out: is required", "--store", "stroe", "threads", "start: must be a bundle's id",
        "bi.batch_size", "bi.loss", "joint.rate.peak"}) {
    INFO(status.message());
    REQUIRE(absl::StrContains(status.message(), part));
  }
}

TEST_CASE("options are read without a run, by the same rules") {
  auto file = ConfigFile::Parse("start: none\naugment: {shift: 0.25}\nseed: 7\n", "train.yaml");
  REQUIRE(!ReadTrainingOptions(&*file).ok());
  file = ConfigFile::Parse("augment: {shift: 0.25}\nseed: 7\n", "train.yaml");
  const auto options = ReadTrainingOptions(&*file);
  INFO(options.status().ToString());
  REQUIRE(options.ok());
  REQUIRE(options->augment.shift == 0.25);
  REQUIRE(options->seed == 7);
}

}  // namespace
}  // namespace sightline
