#include "services/trainer/train_config.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"

namespace sightline {
namespace {

// Reads each option from the key of its name.  Ranges are CheckTrainingOptions' affair, which
// knows what excludes what.
class OptionReader : public OptionVisitor {
 public:
  explicit OptionReader(ConfigReader root) : sections_({{"", root}}) {}

  void Number(const std::string& name, double* value, double, double) override {
    const auto [section, key] = PlaceOf(name);
    *value = section->Double(key, *value);
  }
  void Count(const std::string& name, int64_t* value, int64_t, int64_t) override {
    const auto [section, key] = PlaceOf(name);
    *value = section->Int(key, *value);
  }
  void Flag(const std::string& name, bool* value) override {
    const auto [section, key] = PlaceOf(name);
    *value = section->Bool(key, *value);
  }
  void Choice(const std::string& name, const std::vector<std::string>& names,
              size_t* value) override {
    const auto [section, key] = PlaceOf(name);
    const std::string chosen = section->Choice(key, names[*value], names);
    *value = std::find(names.begin(), names.end(), chosen) - names.begin();
  }

 private:
  // "joint.rate.peak": the key "peak" of the section "joint.rate".
  std::pair<ConfigReader*, std::string> PlaceOf(const std::string& name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return {&sections_.at(""), name};
    const std::string path = name.substr(0, dot);
    auto section = sections_.find(path);
    if (section == sections_.end()) {
      const auto [parent, key] = PlaceOf(path);
      section = sections_.emplace(path, parent->Section(key)).first;
    }
    return {&section->second, name.substr(dot + 1)};
  }

  std::map<std::string, ConfigReader> sections_;  // by path; opened once, as problems are told
};

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

// A path that file or flag must give.
std::string RequiredPath(ConfigReader root, absl::string_view key, const std::string& flag) {
  const std::string path = FlagOr(flag, root.String(key, ""));
  if (path.empty()) {
    root.AddProblem(key, absl::StrCat("is required, here or as the flag --", key));
  }
  return path;
}

// Both at once, if both have something to say.
absl::Status Joined(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::InvalidArgumentError(absl::StrCat(a.message(), "\n", b.message()));
}

}  // namespace

absl::StatusOr<TrainConfig> ReadTrainConfig(ConfigFile* file, const TrainOverrides& overrides) {
  ConfigReader root = file->root();
  TrainConfig config;
  config.data = RequiredPath(root, "data", overrides.data);
  config.out = RequiredPath(root, "out", overrides.out);
  config.store = RequiredPath(root, "store", overrides.store);
  config.model_config = FlagOr(overrides.model_config, root.String("model_config", ""));
  config.retriever = FlagOr(overrides.retriever, root.String("retriever", ""));
  if (!config.retriever.empty() && !IsSha256Hex(config.retriever)) {
    root.AddProblem("retriever", "must be a bundle's id: 64 lower-case hex digits");
  }
  config.description = root.String("description", "");
  config.device = FlagOr(overrides.device, root.String("device", config.device));
  config.threads = static_cast<int>(
      overrides.threads.value_or(root.Int("threads", UsableCores(), 1, limits::kMaxThreads)));
  config.checkpoint_every = root.Duration("checkpoint_every", config.checkpoint_every,
                                          /*min=*/absl::Seconds(1), /*max=*/absl::Hours(24));
  config.report_every = root.Int("report_every", config.report_every, 1, 1'000'000);
  config.options = ReadOptions(root);
  if (overrides.seed.has_value()) config.options.seed = static_cast<uint64_t>(*overrides.seed);
  RETURN_IF_ERROR(Joined(file->Finish(), CheckTrainingOptions(config.options)));
  return config;
}

}  // namespace sightline
