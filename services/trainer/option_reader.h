// Options out of a configuration file, each from the key of its name.
#ifndef SIGHTLINE_SERVICES_TRAINER_OPTION_READER_H_
#define SIGHTLINE_SERVICES_TRAINER_OPTION_READER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "common/training/training_options.h"

namespace sightline {

// Ranges are the checks' affair, which know what excludes what.
class OptionReader : public OptionVisitor {
 public:
  explicit OptionReader(ConfigReader root) : sections_({{"", root}}) {}

  void Number(const std::string& name, double* value, double low, double high) override;
  void Count(const std::string& name, int64_t* value, int64_t low, int64_t high) override;
  void Flag(const std::string& name, bool* value) override;
  void Choice(const std::string& name, const std::vector<std::string>& names,
              size_t* value) override;

 private:
  // "joint.rate.peak": the key "peak" of the section "joint.rate".
  std::pair<ConfigReader*, std::string> PlaceOf(const std::string& name);

  std::map<std::string, ConfigReader> sections_;  // by path; opened once, as problems are told
};

// A path, or the like, that file or flag must give.
std::string RequiredValue(ConfigReader root, absl::string_view key, const std::string& flag);

// What `device` names, of file or flag: auto, cpu, cuda or cuda:N; whether there is such a one, the
// run finds out.
std::string DeviceName(ConfigReader root, const std::string& flag, const std::string& usual);

// Both at once, if both have something to say.
absl::Status JoinedProblems(const absl::Status& a, const absl::Status& b);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_OPTION_READER_H_
