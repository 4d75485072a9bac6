#include "services/trainer/train_config.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "services/trainer/option_reader.h"

namespace sightline {
namespace {

TrainingOptions ReadOptions(ConfigReader root) {
  TrainingOptions options;
  options.seed = static_cast<uint64_t>(
      root.Int("seed", static_cast<int64_t>(options.seed), 0, std::numeric_limits<int64_t>::max()));
  OptionReader reader(root);
  VisitTrainingOptions(&options, &reader);
  options.combination = root.Choice("combination", options.combination,
                                    {"auto", "replace", "add_lambda", "norm_add_lambda"});
  options.combination_lambda = root.Double("combination_lambda", options.combination_lambda);
  return options;
}

std::string FlagOr(const std::string& flag, const std::string& otherwise) {
  return flag.empty() ? otherwise : flag;
}

std::string BundleId(ConfigReader root, absl::string_view key, const std::string& flag) {
  std::string id = FlagOr(flag, root.String(key, ""));
  if (!id.empty() && !IsSha256Hex(id)) {
    root.AddProblem(key, "must be a bundle's id: 64 lower-case hex digits");
  }
  return id;
}

}  // namespace

absl::StatusOr<TrainConfig> ReadTrainConfig(ConfigFile* file, const TrainOverrides& overrides) {
  ConfigReader root = file->root();
  TrainConfig config;
  config.data = RequiredValue(root, "data", overrides.data);
  config.out = RequiredValue(root, "out", overrides.out);
  config.store = RequiredValue(root, "store", overrides.store);
  config.model_config = FlagOr(overrides.model_config, root.String("model_config", ""));
  config.start = BundleId(root, "start", overrides.start);
  config.retriever = BundleId(root, "retriever", overrides.retriever);
  config.description = root.String("description", "");
  config.device = DeviceName(root, overrides.device, config.device);
  config.threads = static_cast<int>(
      overrides.threads.value_or(root.Int("threads", UsableCores(), 1, limits::kMaxThreads)));
  config.checkpoint_every = root.Duration("checkpoint_every", config.checkpoint_every,
                                          /*min=*/absl::Seconds(1), /*max=*/absl::Hours(24));
  config.report_every = root.Int("report_every", config.report_every, 1, 1'000'000);
  config.options = ReadOptions(root);
  if (overrides.seed.has_value()) config.options.seed = static_cast<uint64_t>(*overrides.seed);
  RETURN_IF_ERROR(JoinedProblems(file->Finish(), CheckTrainingOptions(config.options)));
  return config;
}

absl::StatusOr<TrainingOptions> ReadTrainingOptions(ConfigFile* file) {
  TrainOverrides of_no_run;  // which is to have them
  of_no_run.data = of_no_run.out = of_no_run.store = ".";
  ASSIGN_OR_RETURN(TrainConfig config, ReadTrainConfig(file, of_no_run));
  return std::move(config.options);
}

}  // namespace sightline
