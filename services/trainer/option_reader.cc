#include "services/trainer/option_reader.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sightline {

void OptionReader::Number(const std::string& name, double* value, double, double) {
  const auto [section, key] = PlaceOf(name);
  *value = section->Double(key, *value);
}

void OptionReader::Count(const std::string& name, int64_t* value, int64_t, int64_t) {
  const auto [section, key] = PlaceOf(name);
  *value = section->Int(key, *value);
}

void OptionReader::Flag(const std::string& name, bool* value) {
  const auto [section, key] = PlaceOf(name);
  *value = section->Bool(key, *value);
}

void OptionReader::Choice(const std::string& name, const std::vector<std::string>& names,
                          size_t* value) {
  const auto [section, key] = PlaceOf(name);
  const std::string chosen = section->Choice(key, names[*value], names);
  *value = std::find(names.begin(), names.end(), chosen) - names.begin();
}

std::pair<ConfigReader*, std::string> OptionReader::PlaceOf(const std::string& name) {
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

std::string RequiredValue(ConfigReader root, absl::string_view key, const std::string& flag) {
  const std::string of_file = root.String(key, "");
  const std::string& value = flag.empty() ? of_file : flag;
  if (value.empty()) {
    root.AddProblem(key, absl::StrCat("is required, here or as the flag --", key));
  }
  return value;
}

std::string DeviceName(ConfigReader root, const std::string& flag, const std::string& usual) {
  const std::string of_file = root.String("device", usual);
  const std::string& name = flag.empty() ? of_file : flag;
  absl::string_view number = name;
  int gpu = 0;
  const bool numbered =
      absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &gpu) && gpu >= 0;
  if (name != "auto" && name != "cpu" && name != "cuda" && !numbered) {
    root.AddProblem("device", absl::StrCat(flag.empty() ? "" : "(as the flag --device) ", "'", name,
                                           "' is none of auto, cpu, cuda and cuda:N"));
  }
  return name;
}

absl::Status JoinedProblems(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::InvalidArgumentError(absl::StrCat(a.message(), "\n", b.message()));
}

}  // namespace sightline
