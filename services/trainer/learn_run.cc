#include "services/trainer/learn_run.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/named_bundle.h"
#include "common/dataset/splits.h"
#include "services/trainer/run_log.h"

namespace sightline {
namespace {

absl::StatusOr<std::unique_ptr<PairCorpus>> OpenPairs(const std::vector<CorpusSpec>& specs,
                                                      const LearnConfig& config, Split split) {
  std::vector<std::unique_ptr<CorpusReader>> readers;
  PairCorpusOptions options;
  for (const CorpusSpec& spec : specs) {
    ASSIGN_OR_RETURN(readers.emplace_back(), OpenCorpus(spec));
    options.languages = spec.languages;
  }
  options.captions_per_picture = config.captions_per_picture;
  // Which its source says, or its id.
  options.wanted = [split](const CorpusItem& item) {
    return item.split.value_or(SplitOfItem(item.item_id)) == split;
  };
  return PairCorpus::Open(std::move(readers), options);
}

absl::Status CheckApart(const PairCorpus& learnt, const PairCorpus& development) {
  std::unordered_set<std::string> ids;
  for (int64_t i = 0; i < learnt.picture_count(); ++i) ids.insert(learnt.item_id(i));
  for (int64_t i = 0; i < development.picture_count(); ++i) {
    if (ids.count(development.item_id(i)) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(development.item_id(i),
                       " is to be learnt and to be chosen by; its sources differ in its "
                       "split"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelBundle>> OpenBundle(const LearnConfig& config,
                                                        const std::string& name) {
  ASSIGN_OR_RETURN(ModelBundle bundle, OpenNamedBundle(config.store, name));
  return std::make_unique<ModelBundle>(std::move(bundle));
}

absl::Status OpenOthers(const LearnConfig& config, LearnInput* input) {
  std::vector<std::string> names = {config.recipe.retriever};
  for (const TaskRecipe& task : config.recipe.tasks) names.push_back(task.teacher);
  for (const std::string& name : names) {
    if (name.empty() || input->others.count(name) > 0) continue;
    ASSIGN_OR_RETURN(input->others[name], OpenBundle(config, name));
    input->job.others[name] = input->others[name].get();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LearnInput> OpenLearnInput(const LearnConfig& config,
                                          const TrainingWorldOptions& world) {
  LearnInput input;
  ASSIGN_OR_RETURN(input.start, OpenBundle(config, config.start));
  RETURN_IF_ERROR(OpenOthers(config, &input));
  ASSIGN_OR_RETURN(input.learnt, OpenPairs(config.corpora, config, Split::kTrain));
  const bool has_own = !config.development.empty();
  auto development =
      OpenPairs(has_own ? config.development : config.corpora, config, Split::kValidation);
  if (!development.ok()) {
    return absl::Status(development.status().code(),
                        absl::StrCat("of the validation split, which ",
                                     has_own ? "--development names" : "the corpora have", ": ",
                                     development.status().message()));
  }
  input.development = *std::move(development);
  RETURN_IF_ERROR(CheckApart(*input.learnt, *input.development));
  if (!config.recipe.wordnet.empty()) {
    ASSIGN_OR_RETURN(WordNet wordnet, WordNet::Read(config.recipe.wordnet));
    input.wordnet = std::make_unique<WordNet>(std::move(wordnet));
  }
  RecipeJob& job = input.job;
  job.recipe = config.recipe;
  job.start = input.start.get();
  job.learnt = input.learnt.get();
  job.development = input.development.get();
  job.wordnet = input.wordnet.get();
  job.store = config.store;
  job.description = config.description;
  job.device = config.device;
  job.threads = config.threads;
  job.checkpoint_directory = JoinPath(config.out, kCheckpointFolder);
  job.checkpoint_every = config.checkpoint_every;
  job.report_every = config.report_every;
  job.world = world;
  job.world.timeout = config.peer_timeout;
  if (world.rank == 0) {
    RETURN_IF_ERROR(MakeDirectories(job.checkpoint_directory));
    // Where the bundle goes: a store that cannot be one is found out before hours, not behind them.
    RETURN_IF_ERROR(MakeDirectories(ModelDirectory(config.store, "")));
  }
  return input;
}

}  // namespace sightline
