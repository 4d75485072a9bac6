// Flags of a command line, strictly: every problem at once, nothing guessed.
//
//   std::string router = "localhost:7400";
//   absl::Duration timeout = absl::Seconds(5);
//   Flags flags;
//   flags.String("router", "ADDR", "address of the router", &router);
//   flags.Duration("timeout", "how long to wait for the answer", &timeout);
//   ASSIGN_OR_RETURN(std::vector<std::string> words, flags.Parse(args));
//
// `--name value` and `--name=value` mean the same; a switch is `--name` alone; what
// follows `--` is never a flag.  Flags and words may be mixed.
#ifndef SIGHTLINE_COMMON_CONFIG_COMMAND_LINE_H_
#define SIGHTLINE_COMMON_CONFIG_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// Targets must outlive Parse and keep their value, the default, when their flag is not
// there.  Not thread-safe.
class Flags {
 public:
  // `value` names what follows the flag in the help: "ADDR".
  void String(absl::string_view name, absl::string_view value, absl::string_view help,
              std::string* target);
  // May be given more than once; every other flag may not.
  void Strings(absl::string_view name, absl::string_view value, absl::string_view help,
               std::vector<std::string>* target);
  // `Integer` holds `min` to `max`; an optional one, where it counts whether it was given.
  template <typename Integer>
  void Int(absl::string_view name, absl::string_view help, int64_t min, int64_t max,
           Integer* target) {
    AddInt(name, help, min, max,
           [target](int64_t number) { *target = static_cast<Integer>(number); });
  }
  // "300ms", "2s"; positive.
  void Duration(absl::string_view name, absl::string_view help, absl::Duration* target);
  void Switch(absl::string_view name, absl::string_view help, bool* target);

  // The words that are no flags, in order.  InvalidArgument with a line for each
  // problem: an unknown flag (and the one that was probably meant), one given twice, a
  // value that is missing or bad.
  absl::StatusOr<std::vector<std::string>> Parse(const std::vector<std::string>& args) const;

  // One aligned line for each flag, in the order of their definition, indented by two.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string value;  // empty: a switch
    std::string help;
    bool repeatable = false;
    std::function<absl::Status(const std::string& value)> set;
  };

  void AddInt(absl::string_view name, absl::string_view help, int64_t min, int64_t max,
              std::function<void(int64_t)> set);
  const Flag* Find(absl::string_view name) const;
  std::string Unknown(absl::string_view name) const;

  std::vector<Flag> flags_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_COMMAND_LINE_H_
