#include "common/training/world_options.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Environment = std::map<std::string, std::string>;

absl::StatusOr<TrainingWorldOptions> Read(const Environment& environment) {
  return WorldOptionsOf([&](const std::string& name) -> absl::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return absl::nullopt;
    return found->second;
  });
}

Environment Usual() {
  return {{"WORLD_SIZE", "3"},
          {"RANK", "2"},
          {"MASTER_ADDR", "learn-0.learn"},
          {"MASTER_PORT", "29500"}};
}

TEST_CASE("without a launcher there is one process") {
  const auto options = Read({{"MASTER_ADDR", "somewhere"}});
  REQUIRE(options.ok());
  REQUIRE(options->size == 1);
  REQUIRE(options->rank == 0);
  // And if a launcher started one, it needs nobody to meet.
  REQUIRE(Read({{"WORLD_SIZE", "1"}, {"RANK", "0"}})->size == 1);
}

TEST_CASE("a launcher says who this is and where the others are met") {
  Environment environment = Usual();
  auto options = Read(environment);
  REQUIRE(options.ok());
  REQUIRE(options->size == 3);
  REQUIRE(options->rank == 2);
  REQUIRE(options->host == "learn-0.learn");
  REQUIRE(options->port == 29500);
  REQUIRE(options->interface.empty());
  REQUIRE_FALSE(options->launcher_keeps_store);
  REQUIRE_FALSE(options->all_local);
  // Whatever process 0 is called: operators tell it that it is localhost.
  environment["MASTER_ADDR"] = "localhost";
  environment["LOCAL_WORLD_SIZE"] = "2";
  REQUIRE_FALSE(Read(environment)->all_local);
  environment["LOCAL_WORLD_SIZE"] = "3";
  REQUIRE(Read(environment)->all_local);

  // One of three on this machine, counted on from those of others where nothing says which.
  REQUIRE(Read(environment)->local_rank == 2);
  environment["LOCAL_WORLD_SIZE"] = "2";
  REQUIRE(Read(environment)->local_rank == 0);
  environment["LOCAL_RANK"] = "1";
  REQUIRE(Read(environment)->local_rank == 1);
  // Some say which one it is, and not of how many.
  environment.erase("LOCAL_WORLD_SIZE");
  REQUIRE(Read(environment)->local_rank == 1);

  environment["GLOO_SOCKET_IFNAME"] = "eth1";
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  environment["TORCHELASTIC_RESTART_COUNT"] = "4";
  options = Read(environment);
  REQUIRE(options->interface == "eth1");
  REQUIRE(options->launcher_keeps_store);
  REQUIRE(options->prefix == "/worker/attempt_4");
}

TEST_CASE("what is missing or out of its range is named, with its value") {
  const auto message = [](const Environment& environment) {
    const absl::Status status = Read(environment).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  for (const auto& [name, value] : Usual()) {
    INFO(name);
    Environment environment = Usual();
    environment.erase(name);
    REQUIRE(absl::StrContains(message(environment), "no " + name));
  }
  const auto with = [](const std::string& name, const std::string& value) {
    Environment environment = Usual();
    environment[name] = value;
    return environment;
  };
  REQUIRE(absl::StrContains(message(with("RANK", "3")),
                            "RANK is '3'; it is to be a number from 0 to 2"));
  REQUIRE(absl::StrContains(message(with("RANK", "-1")), "RANK is '-1'"));
  REQUIRE(absl::StrContains(message(with("WORLD_SIZE", "0")), "WORLD_SIZE is '0'"));
  REQUIRE(absl::StrContains(message(with("WORLD_SIZE", "99999")), "WORLD_SIZE is '99999'"));
  REQUIRE(absl::StrContains(message(with("LOCAL_WORLD_SIZE", "0")), "LOCAL_WORLD_SIZE is '0'"));
  REQUIRE(absl::StrContains(message(with("LOCAL_WORLD_SIZE", "9")), "LOCAL_WORLD_SIZE is '9'"));
  REQUIRE(absl::StrContains(message(with("LOCAL_RANK", "3")), "LOCAL_RANK is '3'"));
  REQUIRE(absl::StrContains(message(with("WORLD_SIZE", "two")), "WORLD_SIZE is 'two'"));
  REQUIRE(absl::StrContains(message(with("MASTER_PORT", "65536")), "MASTER_PORT is '65536'"));
  REQUIRE(absl::StrContains(message(with("MASTER_PORT", "0")), "MASTER_PORT is '0'"));
  REQUIRE(absl::StrContains(message(with("MASTER_ADDR", "")), "no MASTER_ADDR"));
}

}  // namespace
}  // namespace sightline
