#include "common/training/world_options.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int kMostPort = 65535;

absl::optional<std::string> OfEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? absl::nullopt : absl::make_optional<std::string>(value);
}

absl::StatusOr<int> NumberOf(absl::string_view name, const std::string& value, int least,
                             int most) {
  int number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= least && number <= most) return number;
  return absl::InvalidArgumentError(absl::StrCat("the environment's ", name, " is '", value,
                                                 "'; it is to be a number from ", least, " to ",
                                                 most));
}

absl::Status Missing(absl::string_view name, absl::string_view other) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the environment has ", other, " but no ", name,
      "; several processes need WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT, and one "
      "alone needs none of them"));
}

}  // namespace

absl::StatusOr<TrainingWorldOptions> WorldOptionsOf(
    const std::function<absl::optional<std::string>(const std::string& name)>& variable) {
  TrainingWorldOptions options;
  const auto size = variable("WORLD_SIZE"), rank = variable("RANK");
  if (!size.has_value() && !rank.has_value()) return options;
  if (!size.has_value()) return Missing("WORLD_SIZE", "RANK");
  if (!rank.has_value()) return Missing("RANK", "WORLD_SIZE");
  ASSIGN_OR_RETURN(options.size, NumberOf("WORLD_SIZE", *size, 1, kMostProcesses));
  ASSIGN_OR_RETURN(options.rank, NumberOf("RANK", *rank, 0, options.size - 1));
  if (options.size == 1) return options;
  const auto host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (!host.has_value() || host->empty()) return Missing("MASTER_ADDR", "WORLD_SIZE");
  if (!port.has_value()) return Missing("MASTER_PORT", "WORLD_SIZE");
  options.host = *host;
  ASSIGN_OR_RETURN(options.port, NumberOf("MASTER_PORT", *port, 1, kMostPort));
  // What MASTER_ADDR says does not tell: operators tell process 0 "localhost".
  const auto local = variable("LOCAL_WORLD_SIZE");
  ASSIGN_OR_RETURN(const int local_size,
                   NumberOf("LOCAL_WORLD_SIZE", local.value_or("1"), 1, options.size));
  options.all_local = local_size == options.size;
  const auto local_rank = variable("LOCAL_RANK");
  options.local_rank = options.rank % local_size;
  if (local_rank.has_value()) {
    const int most = (local.has_value() ? local_size : options.size) - 1;
    ASSIGN_OR_RETURN(options.local_rank, NumberOf("LOCAL_RANK", *local_rank, 0, most));
  }
  options.interface = variable("GLOO_SOCKET_IFNAME").value_or("");
  options.launcher_keeps_store = variable("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  if (options.launcher_keeps_store) {
    options.prefix =
        absl::StrCat("/worker/attempt_", variable("TORCHELASTIC_RESTART_COUNT").value_or("0"));
  }
  return options;
}

absl::StatusOr<TrainingWorldOptions> WorldOptionsOfEnvironment() {
  return WorldOptionsOf(OfEnvironment);
}

absl::StatusOr<int> LocalProcesses() {
  const auto count = OfEnvironment("LOCAL_WORLD_SIZE");
  if (!count.has_value()) return 1;
  return NumberOf("LOCAL_WORLD_SIZE", *count, 1, kMostProcesses);
}

}  // namespace sightline
