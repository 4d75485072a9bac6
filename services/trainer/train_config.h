// Configuration of `trainer train`; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_TRAINER_TRAIN_CONFIG_H_
#define SIGHTLINE_SERVICES_TRAINER_TRAIN_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/config/config.h"
#include "common/training/training_options.h"

namespace sightline {

struct TrainConfig {
  std::string data;          // folder that `trainer prepare` has written
  std::string out;           // metrics and checkpoints
  std::string store;         // the bundle goes below its models/
  std::string model_config;  // as ReadModelConfig takes it
  std::string start;         // id of a bundle in the store; empty: random weights
  std::string retriever;     // likewise; empty: none
  std::string description;   // of the bundle; empty: the model's, or one is made
  std::string device = "auto";
  int threads = 1;  // on the CPU; by default as many as UsableCores()
  absl::Duration checkpoint_every = absl::Minutes(10);
  int64_t report_every = 50;
  TrainingOptions options;
};

// What the command line sets beside a configuration file, or in its place.
struct TrainOverrides {
  std::string data, out, store, model_config, start, retriever, device;  // empty: not set
  absl::optional<int64_t> threads, seed;
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<TrainConfig> ReadTrainConfig(ConfigFile* file, const TrainOverrides& overrides);

// The options of such a file, which is held to the same rules, but that it may lack what a run has
// to have.
absl::StatusOr<TrainingOptions> ReadTrainingOptions(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_TRAIN_CONFIG_H_
