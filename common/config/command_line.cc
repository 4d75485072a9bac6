#include "common/config/command_line.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/nearest_name.h"

namespace sightline {
void Flags::String(absl::string_view name, absl::string_view value, absl::string_view help,
                   std::string* target) {
  flags_.push_back({std::string(name), std::string(value), std::string(help), false,
                    [target](const std::string& text) {
                      *target = text;
                      return absl::OkStatus();
                    }});
}

void Flags::Strings(absl::string_view name, absl::string_view value, absl::string_view help,
                    std::vector<std::string>* target) {
  flags_.push_back({std::string(name), std::string(value), std::string(help), true,
                    [target](const std::string& text) {
                      target->push_back(text);
                      return absl::OkStatus();
                    }});
}

void Flags::AddInt(absl::string_view name, absl::string_view help, int64_t min, int64_t max,
                   std::function<void(int64_t)> set) {
  flags_.push_back({std::string(name), "N", std::string(help), false,
                    [set = std::move(set), min, max](const std::string& text) {
                      int64_t number;
                      if (!absl::SimpleAtoi(text, &number) || number < min || number > max) {
                        return absl::InvalidArgumentError(absl::StrCat(
                            "'", text, "' is not a whole number from ", min, " to ", max));
                      }
                      set(number);
                      return absl::OkStatus();
                    }});
}

void Flags::Duration(absl::string_view name, absl::string_view help, absl::Duration* target) {
  flags_.push_back(
      {std::string(name), "TIME", std::string(help), false, [target](const std::string& text) {
         absl::Duration duration;
         if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration()) {
           return absl::InvalidArgumentError(
               absl::StrCat("'", text, "' is not a positive time like 300ms or 2s"));
         }
         *target = duration;
         return absl::OkStatus();
       }});
}

void Flags::Switch(absl::string_view name, absl::string_view help, bool* target) {
  flags_.push_back({std::string(name), "", std::string(help), false, [target](const std::string&) {
                      *target = true;
                      return absl::OkStatus();
                    }});
}

const Flags::Flag* Flags::Find(absl::string_view name) const {
  for (const Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

std::string Flags::Unknown(absl::string_view name) const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  const std::string nearest = NearestName(name, names);
  return absl::StrCat("unknown flag --", name,
                      nearest.empty() ? "" : absl::StrCat("; did you mean --", nearest, "?"));
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(const std::vector<std::string>& args) const {
  std::vector<std::string> words;
  std::vector<std::string> problems;
  std::set<std::string> seen;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      words.insert(words.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (args[i].size() < 2 || args[i][0] != '-') {
      words.push_back(args[i]);
      continue;
    }
    if (args[i][1] != '-') {
      problems.push_back(absl::StrCat("unknown flag ", args[i],
                                      "; flags begin with --, and what "
                                      "follows -- alone is no flag"));
      continue;
    }
    const size_t equals = args[i].find('=');
    const bool joined = equals != std::string::npos;
    const std::string name = args[i].substr(2, joined ? equals - 2 : std::string::npos);
    const Flag* flag = Find(name);
    if (flag == nullptr) {
      problems.push_back(Unknown(name));
      continue;
    }
    std::string value;
    if (flag->value.empty() && joined) {
      problems.push_back(absl::StrCat("--", name, " takes no value"));
      continue;
    }
    if (joined) {
      value = args[i].substr(equals + 1);
    } else if (!flag->value.empty()) {
      if (i + 1 == args.size()) {
        problems.push_back(absl::StrCat("--", name, " needs a value: ", flag->value));
        break;
      }
      value = args[++i];
    }
    if (!seen.insert(name).second && !flag->repeatable) {
      problems.push_back(absl::StrCat("--", name, " is given twice"));
      continue;
    }
    if (const absl::Status set = flag->set(value); !set.ok()) {
      problems.push_back(absl::StrCat("--", name, ": ", set.message()));
    }
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return words;
}

std::string Flags::Help() const {
  std::vector<std::string> heads;
  size_t width = 0;
  for (const Flag& flag : flags_) {
    heads.push_back(flag.value.empty() ? absl::StrCat("--", flag.name)
                                       : absl::StrCat("--", flag.name, " ", flag.value));
    width = std::max(width, heads.back().size());
  }
  std::string help;
  for (size_t i = 0; i < flags_.size(); ++i) {
    absl::StrAppend(&help, "  ", heads[i], std::string(width - heads[i].size() + 2, ' '),
                    flags_[i].help, "\n");
  }
  return help;
}

}  // namespace sightline
