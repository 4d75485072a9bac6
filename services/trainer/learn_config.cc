#include "services/trainer/learn_config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "services/trainer/option_reader.h"

namespace sightline {
namespace {

Recipe ReadRecipe(ConfigReader root) {
  Recipe recipe;
  recipe.seed = static_cast<uint64_t>(
      root.Int("seed", static_cast<int64_t>(recipe.seed), 0, std::numeric_limits<int64_t>::max()));
  OptionReader reader(root);
  VisitRecipe(&recipe, &reader);
  recipe.retriever = root.String("retriever", "");
  recipe.wordnet = root.String("wordnet", "");
  for (ConfigReader section : root.Sections("tasks", /*min_count=*/1)) {
    TaskRecipe task;
    task.objective = section.RequiredString("objective");
    task.teacher = section.String("teacher", "");
    task.masked_words = section.String("masked_words", "");
    OptionReader of_task(section);
    VisitTask("", &task, &of_task);
    recipe.tasks.push_back(std::move(task));
  }
  return recipe;
}

// Of the flag, or of the file where there is none.
class CorporaReader {
 public:
  explicit CorporaReader(ConfigReader root)
      : root_(root), languages_(root.StringList("languages")) {
    if (languages_.empty()) languages_ = {"en"};
  }

  std::vector<CorpusSpec> Read(absl::string_view key, absl::string_view flag,
                               const std::vector<std::string>& of_flag) {
    const std::vector<std::string> of_file = root_.StringList(key);
    std::vector<CorpusSpec> corpora;
    for (const std::string& text : of_flag.empty() ? of_file : of_flag) {
      absl::StatusOr<CorpusSpec> spec = ParseCorpus(text);
      if (spec.ok()) {
        spec->languages = languages_;
        corpora.push_back(*std::move(spec));
      } else if (of_flag.empty()) {
        root_.AddProblem(key, spec.status().message());
      } else {
        of_flags_.push_back(absl::StrCat(flag, " ", text, ": ", spec.status().message()));
      }
    }
    return corpora;
  }

  // What is wrong with the flags; the file's problems are the file's to tell.
  absl::Status FlagProblems() const {
    if (of_flags_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(of_flags_, "\n"));
  }

 private:
  ConfigReader root_;
  std::vector<std::string> languages_;
  std::vector<std::string> of_flags_;
};

// `named`: corpora, sound or not.  That there are none is told elsewhere.
void CheckCorpora(const Recipe& recipe, size_t named, ConfigReader* root) {
  const auto count = static_cast<int64_t>(named);
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    const int64_t corpus = recipe.tasks[i].corpus;
    if (corpus <= count || count == 0) continue;
    root->AddProblem(absl::StrCat("tasks.", i, ".corpus"),
                     absl::StrCat("is ", corpus, ", and there are ", count,
                                  " corpora, of which the first is 1; give the others, or leave "
                                  "the task out"));
  }
}

}  // namespace

absl::StatusOr<LearnConfig> ReadLearnConfig(ConfigFile* file, const LearnOverrides& overrides) {
  ConfigReader root = file->root();
  LearnConfig config;
  config.start = RequiredValue(root, "start", overrides.start);
  config.out = RequiredValue(root, "out", overrides.out);
  config.store = RequiredValue(root, "store", overrides.store);
  CorporaReader corpora(root);
  config.corpora = corpora.Read("corpora", "--corpus", overrides.corpora);
  if (config.corpora.empty() && overrides.corpora.empty()) {
    root.AddProblem("corpora", "is required, here or as the flag --corpus");
  }
  config.development = corpora.Read("development", "--development", overrides.development);
  config.captions_per_picture = static_cast<int>(root.Int("captions_per_picture", 0, 0, 1000));
  config.longest_caption =
      static_cast<int>(root.Int("longest_caption", 0, 0, limits::kMaxTextBytes));
  config.description = root.String("description", "");
  config.device = DeviceName(root, overrides.device, config.device);
  const int64_t cores = std::max(UsableCores() / overrides.local_processes, 1);
  config.threads = static_cast<int>(
      overrides.threads.value_or(root.Int("threads", cores, 1, limits::kMaxThreads)));
  config.checkpoint_every = root.Duration("checkpoint_every", config.checkpoint_every,
                                          /*min=*/absl::Seconds(1), /*max=*/absl::Hours(24));
  config.peer_timeout = root.Duration("peer_timeout", config.peer_timeout,
                                      /*min=*/absl::Seconds(1), /*max=*/absl::Hours(24));
  config.nccl = root.Bool("nccl", config.nccl);
  config.report_every = root.Int("report_every", config.report_every, 1, 1'000'000);
  config.recipe = ReadRecipe(root);
  if (overrides.seed.has_value()) config.recipe.seed = static_cast<uint64_t>(*overrides.seed);
  config.recipe.steps = overrides.steps.value_or(config.recipe.steps);
  CheckCorpora(
      config.recipe,
      overrides.corpora.empty() ? root.StringList("corpora").size() : overrides.corpora.size(),
      &root);
  RETURN_IF_ERROR(JoinedProblems(JoinedProblems(file->Finish(), CheckRecipe(config.recipe)),
                                 corpora.FlagProblems()));
  return config;
}

}  // namespace sightline
