#include "services/trainer/learn_command.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/dataset/region_file.h"
#include "common/dataset/splits.h"
#include "common/models/inputs/text_input.h"
#include "common/models/model.h"
#include "nlohmann/json.hpp"
#include "services/trainer/learn_run.h"
#include "services/trainer/run_log.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kRecipe[] = R"(
tasks:
  - {objective: cmr, batch: 8}
steps: 12
rate: {peak: 3.0e-3, warmup_steps: 2, decay: linear}
develop_every: 6
report_every: 4
)";

class Fixture {
 public:
  Fixture() {
    REQUIRE(WriteFileAtomically(dir.File("recipe.yaml"), kRecipe).ok());
    start = MakeTinyBundle(dir.File("store"), lightningdot::TinyOnes()[0]);
  }

  // Regions and captions of pictures `first` to below `end`, and the split that they are said to be
  // in.  `change` is made to each.
  std::string RegionFileOf(int end, absl::optional<Split> split = absl::nullopt, int first = 0,
                           const std::function<void(RegionFileItem*)>& change = nullptr) {
    const auto pairs = MadeUpPairs(lightningdot::TinyOnes()[0], end);
    const int count = end - first;
    const std::string path = dir.File(absl::StrCat("made", files_++, ".regions"));
    const absl::Status written = WriteRegionFile(path, count, Dtype::kFloat32, [&](int64_t place) {
      const int64_t i = first + place;
      RegionFileItem item;
      item.line.split = split;
      item.line.id = pairs->item_id(i);
      item.line.captions = {{"en", pairs->caption(i)}};
      item.regions = pairs->ReadPicture(i)->regions;
      if (change != nullptr) change(&item);
      return absl::StatusOr<RegionFileItem>(std::move(item));
    });
    INFO(written.ToString());
    REQUIRE(written.ok());
    return "regions:" + path;
  }

  int Run(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    return kLearnCommand.run(args, {out_, err_});
  }
  std::vector<std::string> Usual() {
    return {"--recipe",  dir.File("recipe.yaml"),
            "--start",   start.id,
            "--corpus",  RegionFileOf(60),
            "--store",   dir.File("store"),
            "--out",     dir.File("run"),
            "--device",  "cpu",
            "--threads", "1"};
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  TempDir dir;
  ModelBundle start;

 private:
  int files_ = 0;
  std::ostringstream out_, err_;
};

TEST_CASE_METHOD(Fixture, "learn makes of a bundle and regions another bundle, and tells how") {
  const std::vector<std::string> usual = Usual();
  const int status = Run(usual);
  INFO(err());
  REQUIRE(status == kSuccess);
  const std::string id = out().substr(0, out().size() - 1);
  REQUIRE(id.size() == 64);
  const auto bundle = OpenModelBundle(ModelDirectory(dir.File("store"), id), true);
  REQUIRE(bundle.ok());
  REQUIRE(LoadModel(*bundle, {}).ok());
  REQUIRE(absl::StrContains(err(), "development AR "));

  int steps = 0, looks = 0;
  const std::string metrics = *ReadFile(dir.File("run/metrics.jsonl"));
  for (const auto line : absl::StrSplit(metrics, '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(std::string(line));
    if (json["event"] == "step") {
      ++steps;
      REQUIRE(json["tasks"][0]["objective"] == "cmr");
      REQUIRE(json["tasks"][0]["loss"].get<double>() > 0);
      REQUIRE(json.contains("remaining_seconds"));
    }
    if (json["event"] == "development") ++looks;
  }
  REQUIRE(steps == 3);
  REQUIRE(looks == 2);
  REQUIRE(absl::StrContains(metrics, "what is learnt from: "));
  REQUIRE(absl::StrContains(metrics, "what the weights are chosen by: "));
  // Nor is a second run let in beside one, and run again it has nothing more to do.
  {
    RunLog::Options options;
    options.metrics_path = dir.File("run/metrics.jsonl");
    const auto other = RunLog::Create(options);
    REQUIRE(Run(usual) == kRunAgain);
    REQUIRE(absl::StrContains(err(), "another run is at work"));
  }
  REQUIRE(Run(usual) == kSuccess);
  REQUIRE(out() == id + "\n");
}

TEST_CASE_METHOD(Fixture, "a store that is none is found out before anything is learnt") {
  std::vector<std::string> args = Usual();
  args[3] = start.directory;
  args[7] = dir.File("recipe.yaml");
  REQUIRE(Run(args) == kFailure);
  REQUIRE(absl::StrContains(err(), "recipe.yaml"));
  REQUIRE(!FileExists(dir.File("run/metrics.jsonl")));
}

TEST_CASE_METHOD(Fixture, "folders that take no files are found out before anything is learnt") {
  std::vector<std::string> args = Usual();
  // It is there, and takes none, from whomever.
  REQUIRE(MakeDirectories(dir.File("run")).ok());
  REQUIRE(::symlink("/proc/self/fdinfo", dir.File("run/checkpoints").c_str()) == 0);
  REQUIRE(Run(args) == kFailure);
  REQUIRE(absl::StrContains(err(), "run/checkpoints/write_probe"));
  REQUIRE(!FileExists(dir.File("run/metrics.jsonl")));
}

TEST_CASE_METHOD(Fixture, "a damaged checkpoint is a warning") {
  const std::vector<std::string> usual = Usual();
  REQUIRE(Run(usual) == kSuccess);
  const auto names = ListDirectory(dir.File("run/checkpoints"));
  REQUIRE(names->size() == 1);
  const std::string path = JoinPath(dir.File("run/checkpoints"), names->front());
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  REQUIRE(Run(usual) == kSuccess);
  REQUIRE(absl::StrContains(*ReadFile(dir.File("run/metrics.jsonl")),
                            "passed over a damaged checkpoint: "));
  REQUIRE(absl::StrContains(*ReadFile(dir.File("run/metrics.jsonl")), R"("severity":"WARNING")"));
}

TEST_CASE_METHOD(Fixture,
                 "training pictures are learnt, validation's choose, held-out ones neither") {
  LearnConfig config;
  config.start = start.id;
  config.store = dir.File("store");
  config.out = dir.File("run");
  config.corpora = {*ParseCorpus(RegionFileOf(60))};
  const auto input = OpenLearnInput(config);
  INFO(input.status().ToString());
  REQUIRE(input.ok());
  int64_t held_out = 0;
  const auto pairs = MadeUpPairs(lightningdot::TinyOnes()[0], 60);
  for (int64_t i = 0; i < 60; ++i) {
    held_out += SplitOfItem(pairs->item_id(i)) == Split::kHeldOut ? 1 : 0;
  }
  REQUIRE(held_out > 0);
  REQUIRE(input->learnt->picture_count() + input->development->picture_count() + held_out == 60);
  for (int64_t i = 0; i < input->learnt->picture_count(); ++i) {
    REQUIRE(SplitOfItem(input->learnt->item_id(i)) == Split::kTrain);
  }
  for (int64_t i = 0; i < input->development->picture_count(); ++i) {
    REQUIRE(SplitOfItem(input->development->item_id(i)) == Split::kValidation);
  }
}

TEST_CASE_METHOD(Fixture,
                 "what a source says of its pictures holds, and a picture is in one split") {
  LearnConfig config;
  config.start = start.id;
  config.store = dir.File("store");
  config.out = dir.File("run");
  config.corpora = {*ParseCorpus(RegionFileOf(20, Split::kTrain))};
  config.development = {*ParseCorpus(RegionFileOf(30, Split::kValidation, 20))};
  const auto input = OpenLearnInput(config);
  INFO(input.status().ToString());
  REQUIRE(input.ok());
  REQUIRE(input->learnt->picture_count() == 20);
  REQUIRE(input->development->picture_count() == 10);
  config.development = {*ParseCorpus(RegionFileOf(30, Split::kValidation, 19))};
  REQUIRE(absl::StrContains(OpenLearnInput(config).status().message(), "made/1019"));
  config.development = {*ParseCorpus(RegionFileOf(30, Split::kTrain, 20))};
  REQUIRE(absl::StrContains(OpenLearnInput(config).status().message(), "--development"));
}

TEST_CASE_METHOD(Fixture, "what is learnt from and what is chosen by have one width of regions") {
  LearnConfig config;
  config.start = start.id;
  config.store = dir.File("store");
  config.out = dir.File("run");
  config.corpora = {*ParseCorpus(RegionFileOf(20, Split::kTrain))};
  config.development = {
      *ParseCorpus(RegionFileOf(30, Split::kValidation, 20, [](RegionFileItem* item) {
        RegionSet& regions = item->regions;
        ++regions.feature_size;
        regions.features.resize(regions.count * regions.feature_size);
      }))};
  const absl::Status refused = OpenLearnInput(config).status();
  REQUIRE(refused.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(refused.message(), "give both from one extractor"));
}

TEST_CASE_METHOD(Fixture,
                 "captions that are too long are not learnt, and measured by all the same") {
  LearnConfig config;
  config.start = start.id;
  config.store = dir.File("store");
  config.out = dir.File("run");
  const auto lengthen = [](RegionFileItem* item) {
    const std::string caption = item->line.captions[0].text;
    item->line.captions.push_back({"en", absl::StrCat(caption, " ", caption, " ", caption)});
  };
  config.corpora = {*ParseCorpus(RegionFileOf(20, Split::kTrain, 0, lengthen))};
  config.development = {*ParseCorpus(RegionFileOf(30, Split::kValidation, 20, lengthen))};
  const auto all = OpenLearnInput(config);
  REQUIRE(all.ok());
  REQUIRE(all->learnt->caption_count() == 40);
  const auto text = TextInput::Create(start);
  REQUIRE(text.ok());
  for (int64_t i = 0; i < 20; ++i) {
    const auto pieces =
        static_cast<int>((*text)->TokensOf({all->learnt->caption(2 * i)}, 1000)->size());
    config.longest_caption = std::max(config.longest_caption, pieces);
  }
  const auto input = OpenLearnInput(config);
  REQUIRE(input.ok());
  REQUIRE(input->learnt->caption_count() >= 20);
  REQUIRE(input->learnt->caption_count() < 40);
  REQUIRE(absl::StrContains(input->learnt->Notes().back(),
                            absl::StrCat("captions of no piece or more than ",
                                         config.longest_caption, " pieces were left out, ")));
  REQUIRE(input->development->caption_count() == 20);
}

TEST_CASE_METHOD(Fixture, "a corpus in which nothing is wrong for anything is refused") {
  std::vector<std::string> args = Usual();
  const auto say_one_thing = [](RegionFileItem* item) { item->line.captions[0].text = "a fish"; };
  args[5] = RegionFileOf(60, absl::nullopt, 0, say_one_thing);
  REQUIRE(Run(args) == kFailure);
  REQUIRE(absl::StrContains(err(), "no caption is wrong for any picture"));
}

TEST_CASE_METHOD(Fixture, "captions in which the tokenizer finds nothing are left out") {
  LearnConfig config;
  config.start = start.id;
  config.store = dir.File("store");
  config.out = dir.File("run");
  // It is to be seen, and BERT's tokenizers drop it.
  const auto add = [](RegionFileItem* item) { item->line.captions.push_back({"en", "\ufffd"}); };
  config.corpora = {*ParseCorpus(RegionFileOf(20, Split::kTrain, 0, add))};
  config.development = {*ParseCorpus(RegionFileOf(30, Split::kValidation, 20, add))};
  const auto input = OpenLearnInput(config);
  REQUIRE(input.ok());
  for (const PairCorpus* pairs : {input->learnt.get(), input->development.get()}) {
    REQUIRE(pairs->caption_count() == pairs->picture_count());
    REQUIRE(absl::StrContains(pairs->Notes().back(), "the tokenizer finds nothing were left out"));
  }
}

TEST_CASE_METHOD(Fixture, "a recipe is checked before anything is done") {
  std::vector<std::string> args = Usual();
  args.push_back("--check");
  REQUIRE(Run(args) == kSuccess);
  REQUIRE(out() == "the recipe is valid\n");
  REQUIRE_FALSE(FileExists(dir.File("run")));

  REQUIRE(WriteFileAtomically(dir.File("recipe.yaml"), "tasks: [{objective: crm}]\n").ok());
  REQUIRE(Run(Usual()) == kUsageError);
  REQUIRE(absl::StrContains(err(), "tasks.0.objective"));
  REQUIRE(Run({"--corpus", "npz:x"}) == kUsageError);
  REQUIRE(absl::StrContains(err(), "--recipe"));
}

TEST_CASE_METHOD(Fixture, "a teacher is opened by its id or its folder, and learnt from") {
  const ModelBundle teacher = MakeTinyBundle(dir.File("store"), uniter::TinyOnes()[0]);
  for (const std::string& name : {teacher.id, teacher.directory}) {
    REQUIRE(WriteFileAtomically(
                dir.File("recipe.yaml"),
                absl::StrCat("tasks: [{objective: distillation, student: towers, batch: 4, "
                             "candidates: 3, teacher: ",
                             name, "}]\nsteps: 4\n"))
                .ok());
    const int status = Run(Usual());
    INFO(err());
    REQUIRE(status == kSuccess);
  }
  REQUIRE(WriteFileAtomically(
              dir.File("recipe.yaml"),
              "tasks: [{objective: distillation, student: towers, teacher: nowhere}]\nsteps: 4\n")
              .ok());
  REQUIRE(Run(Usual()) == kFailure);
  REQUIRE(absl::StrContains(err(), "nowhere"));
}

TEST_CASE_METHOD(Fixture, "a bundle that is not there fails and is named") {
  std::vector<std::string> args = Usual();
  args[3] = std::string(64, 'a');
  REQUIRE(Run(args) == kFailure);
  REQUIRE(absl::StrContains(err(), "has no model bundle " + std::string(64, 'a')));
  args[3] = "deadbeef";
  REQUIRE(Run(args) == kFailure);
  REQUIRE(absl::StrContains(err(), "'deadbeef' is no folder that is there, and no id"));
}

}  // namespace
}  // namespace sightline
