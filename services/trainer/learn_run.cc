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
#include "common/models/inputs/text_input.h"
#include "services/trainer/run_log.h"

namespace sightline {
namespace {

absl::StatusOr<std::unique_ptr<PairCorpus>> OpenPairs(const std::vector<CorpusSpec>& specs,
                                                      PairCorpusOptions options, Split split) {
  std::vector<std::unique_ptr<CorpusReader>> readers;
  for (const CorpusSpec& spec : specs) {
    ASSIGN_OR_RETURN(readers.emplace_back(), OpenCorpus(spec));
    options.languages = spec.languages;
  }
  // Which its source says, or its id.
  options.wanted = [split](const CorpusItem& item) {
    return item.split.value_or(SplitOfItem(item.item_id)) == split;
  };
  return PairCorpus::Open(std::move(readers), options);
}

// What leaves captions out of which `start` reads nothing, or more than `longest` pieces (0: any).
absl::StatusOr<PairCorpusOptions> OptionsFor(const LearnConfig& config, const ModelBundle& start,
                                             int64_t longest) {
  PairCorpusOptions options;
  options.captions_per_picture = config.captions_per_picture;
  ASSIGN_OR_RETURN(std::shared_ptr<const TextInput> text, TextInput::Create(start));
  options.refuses = [text, longest](const std::string& caption) {
    const auto pieces = text->TokensOf({caption}, longest + 1);
    // What is no text is told where it is read.
    if (!pieces.ok()) return false;
    return pieces->empty() || (longest > 0 && static_cast<int64_t>(pieces->size()) > longest);
  };
  options.refused = longest > 0
                        ? absl::StrCat("captions of no piece or more than ", longest, " pieces")
                        : "captions in which the tokenizer finds nothing";
  return options;
}

// Only what is learnt from leaves long captions out: what is measured by has them all.
absl::StatusOr<std::unique_ptr<PairCorpus>> OpenLearnt(const LearnConfig& config,
                                                       const ModelBundle& start) {
  ASSIGN_OR_RETURN(PairCorpusOptions options, OptionsFor(config, start, config.longest_caption));
  return OpenPairs(config.corpora, std::move(options), Split::kTrain);
}

absl::StatusOr<std::unique_ptr<PairCorpus>> OpenDevelopment(const LearnConfig& config,
                                                            const ModelBundle& start) {
  ASSIGN_OR_RETURN(PairCorpusOptions options, OptionsFor(config, start, /*longest=*/0));
  const bool has_own = !config.development.empty();
  auto opened = OpenPairs(has_own ? config.development : config.corpora, std::move(options),
                          Split::kValidation);
  if (opened.ok()) return opened;
  return absl::Status(
      opened.status().code(),
      absl::StrCat("to choose the weights by, of the validation split of ",
                   has_own ? "--development" : "the corpora", ": ", opened.status().message(),
                   has_own ? "" : "; --development names other corpora"));
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

// Some networks read a region with its box's numbers among its own or without them; what they learn
// by the one says nothing of the other.
absl::Status CheckAlike(const PairCorpus& learnt, const PairCorpus& development) {
  if (learnt.region_feature_size() == development.region_feature_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("what is learnt from has regions of ", learnt.region_feature_size(),
                   " numbers, what the weights are chosen by has ",
                   development.region_feature_size(), "; give both from one extractor"));
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

// A folder that is there, and takes a file.
absl::Status MakeWritable(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  return AtomicFile::Create(JoinPath(directory, "write_probe")).status();
}

}  // namespace

absl::StatusOr<LearnInput> OpenLearnInput(const LearnConfig& config,
                                          const TrainingWorldOptions& world) {
  LearnInput input;
  ASSIGN_OR_RETURN(input.start, OpenBundle(config, config.start));
  RETURN_IF_ERROR(OpenOthers(config, &input));
  ASSIGN_OR_RETURN(input.learnt, OpenLearnt(config, *input.start));
  ASSIGN_OR_RETURN(input.development, OpenDevelopment(config, *input.start));
  RETURN_IF_ERROR(CheckApart(*input.learnt, *input.development));
  RETURN_IF_ERROR(CheckAlike(*input.learnt, *input.development));
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
  job.world.may_use_nccl = config.nccl;
  if (world.rank == 0) {
    // What cannot be written is found out before hours, not behind them.
    RETURN_IF_ERROR(MakeWritable(job.checkpoint_directory));
    RETURN_IF_ERROR(MakeWritable(ModelDirectory(config.store, "")));
  }
  return input;
}

}  // namespace sightline
