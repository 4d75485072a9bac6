// Configuration of `trainer learn`: a recipe, and what it is used on; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_TRAINER_LEARN_CONFIG_H_
#define SIGHTLINE_SERVICES_TRAINER_LEARN_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/config/config.h"
#include "common/dataset/open_corpus.h"
#include "common/training/recipe.h"
#include "common/training/world_options.h"

namespace sightline {

struct LearnConfig {
  Recipe recipe;
  std::string start;  // id of a bundle in the store, or a bundle's folder
  std::vector<CorpusSpec> corpora;
  // Empty: the validation split of `corpora`.
  std::vector<CorpusSpec> development;
  int captions_per_picture = 0;  // 0: all
  // Of the captions to learn from, in the tokenizer's pieces, without [CLS] and [SEP]; 0: any.
  int longest_caption = 0;
  std::string out;          // metrics and checkpoints
  std::string store;        // the bundle goes below its models/
  std::string description;  // of the bundle; empty: one is made
  std::string device = "auto";
  int threads = 1;  // on the CPU; by default as many as UsableCores()
  absl::Duration checkpoint_every = absl::Minutes(10);
  int64_t report_every = 50;
  // How long other processes are waited for.  Which they are, the environment says.
  absl::Duration peer_timeout = TrainingWorldOptions().timeout;
  bool nccl = TrainingWorldOptions().may_use_nccl;
};

// What the command line sets beside a recipe's file.
struct LearnOverrides {
  std::string start, out, store, device;  // empty: not set
  std::vector<std::string> corpora, development;
  absl::optional<int64_t> threads, seed, steps;
  int local_processes = 1;  // that share the machine's cores
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<LearnConfig> ReadLearnConfig(ConfigFile* file, const LearnOverrides& overrides);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_LEARN_CONFIG_H_
