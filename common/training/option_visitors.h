// Who looks at options one by one (training_options.h, recipe.h): to check them, and to write them
// down.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_OPTION_VISITORS_H_
#define SIGHTLINE_COMMON_TRAINING_OPTION_VISITORS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/training/training_options.h"

namespace sightline {

// Most that a count of steps, rows, ... may be.
inline constexpr int64_t kMostCount = int64_t{1} << 40;

// Shows a value of an enumeration; `names` are those of the enumerators, in their order.
template <typename Enum>
void VisitChoice(const std::string& name, const std::vector<std::string>& names, Enum* value,
                 OptionVisitor* v) {
  auto place = static_cast<size_t>(*value);
  v->Choice(name, names, &place);
  *value = static_cast<Enum>(place);
}

// Each option within its range, and whatever else is required; all problems at once.
class OptionChecker : public OptionVisitor {
 public:
  // `what` they are options of, for messages.
  explicit OptionChecker(std::string what) : what_(std::move(what)) {}

  void Number(const std::string& name, double* value, double low, double high) override {
    // Negated, so that NaN is refused.
    if (!(*value >= low && *value <= high)) Note(name, *value, low, high);
  }
  void Count(const std::string& name, int64_t* value, int64_t low, int64_t high) override {
    if (*value < low || *value > high) Note(name, *value, low, high);
  }
  void Flag(const std::string&, bool*) override {}
  void Choice(const std::string&, const std::vector<std::string>&, size_t*) override {}

  void Require(bool holds, absl::string_view problem) {
    if (!holds) problems_.emplace_back(problem);
  }
  absl::Status ToStatus() const {
    if (problems_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", absl::StrJoin(problems_, "; ")));
  }

 private:
  template <typename T>
  void Note(const std::string& name, T value, T low, T high) {
    problems_.push_back(absl::StrCat(name, " is ", value, ", not ", low, " to ", high));
  }

  const std::string what_;
  std::vector<std::string> problems_;
};

// Options that several kinds of runs have, below `name`.
void VisitRate(const std::string& name, RateOptions* rate, OptionVisitor* v);
void VisitAdamW(const std::string& name, AdamWOptions* adamw, OptionVisitor* v);
// What no range says; `usual`: as it is where nobody sets anything.
void CheckRate(const std::string& name, const RateOptions& rate, const RateOptions& usual,
               OptionChecker* checker);

// Each option as a line "name=value".
class OptionDescriber : public OptionVisitor {
 public:
  void Number(const std::string& name, double* value, double, double) override {
    absl::StrAppendFormat(&text_, "%s=%.17g\n", name, *value);
  }
  void Count(const std::string& name, int64_t* value, int64_t, int64_t) override {
    absl::StrAppend(&text_, name, "=", *value, "\n");
  }
  void Flag(const std::string& name, bool* value) override {
    absl::StrAppend(&text_, name, "=", *value ? "true" : "false", "\n");
  }
  void Choice(const std::string& name, const std::vector<std::string>& names,
              size_t* value) override {
    absl::StrAppend(&text_, name, "=", names[*value], "\n");
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OPTION_VISITORS_H_
