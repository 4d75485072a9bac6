// `trainer learn` itself, started as launchers start it: as several processes that the environment
// tells who they are.
#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/config/exit_status.h"
#include "common/dataset/region_file.h"
#include "loadtest/fleet/free_ports.h"
#include "loadtest/fleet/process.h"
#include "nlohmann/json.hpp"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kTrainer[] = "services/trainer/trainer";

using Environment = std::map<std::string, std::string>;

class Launch {
 public:
  explicit Launch(int64_t steps, const std::string& peer_timeout = "60s")
      : start_(MakeTinyBundle(dir_.File("store"), lightningdot::TinyOnes()[0])) {
    REQUIRE(WriteFileAtomically(dir_.File("recipe.yaml"),
                                absl::StrCat("tasks: [{objective: cmr, batch: 7}]\nsteps: ", steps,
                                             "\nrate: {peak: 1.0e-3, warmup_steps: 2}\n"
                                             "dropout: 0\ndevelop_every: 0\nreport_every: 2\n"
                                             "peer_timeout: ",
                                             peer_timeout, "\n"))
                .ok());
    constexpr int kPictures = 60;
    const auto pairs = MadeUpPairs(lightningdot::TinyOnes()[0], kPictures);
    REQUIRE(WriteRegionFile(dir_.File("made.regions"), kPictures, Dtype::kFloat32, [&](int64_t i) {
              RegionFileItem item;
              item.line.id = pairs->item_id(i);
              item.line.captions = {{"en", pairs->caption(i)}};
              item.regions = pairs->ReadPicture(i)->regions;
              return absl::StatusOr<RegionFileItem>(std::move(item));
            }).ok());
  }

  // One of a run's processes.
  std::unique_ptr<Process> Start(const std::string& run, const std::string& log,
                                 const Environment& environment,
                                 const std::vector<std::string>& more_flags = {}) {
    std::vector<std::string> command = {"/usr/bin/env"};
    for (const auto& [name, value] : environment) {
      command.push_back(absl::StrCat(name, "=", value));
    }
    for (const std::string& word :
         {std::string(kTrainer), std::string("learn"), "--recipe=" + dir_.File("recipe.yaml"),
          "--start=" + start_.id, "--corpus=regions:" + dir_.File("made.regions"),
          "--store=" + dir_.File("store"), "--out=" + dir_.File(run), std::string("--device=cpu"),
          std::string("--threads=1")}) {
      command.push_back(word);
    }
    command.insert(command.end(), more_flags.begin(), more_flags.end());
    auto process = Process::Start(command, dir_.File(log));
    INFO(process.status().ToString());
    REQUIRE(process.ok());
    return *std::move(process);
  }

  std::vector<std::unique_ptr<Process>> StartTwo(const std::string& run) {
    const int port = (*ChooseFreePorts(1))[0];
    std::vector<std::unique_ptr<Process>> processes;
    for (const std::string rank : {"0", "1"}) {
      processes.push_back(Start(run, run + rank,
                                {{"WORLD_SIZE", "2"},
                                 {"RANK", rank},
                                 {"LOCAL_WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", rank},
                                 {"MASTER_ADDR", "127.0.0.1"},
                                 {"MASTER_PORT", absl::StrCat(port)}}));
    }
    return processes;
  }

  std::string Log(const std::string& name) const { return *ReadFile(dir_.File(name)); }
  bool HasReported(const std::string& run) const {
    const auto metrics = ReadFile(dir_.File(run + "/metrics.jsonl"));
    return metrics.ok() && absl::StrContains(*metrics, "\"step\"");
  }
  bool HasCheckpoint(const std::string& run) const {
    const auto names = ListDirectory(dir_.File(run + "/checkpoints"));
    return names.ok() && !names->empty();
  }

  // Of each report.
  std::vector<double> Losses(const std::string& run) const {
    std::vector<double> losses;
    const std::string metrics = *ReadFile(dir_.File(run + "/metrics.jsonl"));
    for (const auto line : absl::StrSplit(metrics, '\n', absl::SkipEmpty())) {
      const auto json = nlohmann::json::parse(std::string(line));
      if (json["event"] == "step") losses.push_back(json["tasks"][0]["loss"].get<double>());
    }
    return losses;
  }

 private:
  const TempDir dir_;
  const ModelBundle start_;
};

TEST_CASE("two processes learn as one does, and one of them reports") {
  Launch launch(/*steps=*/8);
  REQUIRE(launch.Start("alone", "alone0", {})->Wait() == kSuccess);
  const auto processes = launch.StartTwo("two");
  for (const auto& process : processes) {
    const auto status = process->Wait();
    INFO(launch.Log("two0") << launch.Log("two1"));
    REQUIRE(status == kSuccess);
  }
  const std::vector<double> losses = launch.Losses("two"), of_one = launch.Losses("alone");
  REQUIRE(of_one.size() == 4);
  REQUIRE(losses.size() == 4);
  for (size_t i = 0; i < losses.size(); ++i) {
    REQUIRE(losses[i] == Approx(of_one[i]).epsilon(1e-3));
  }
  REQUIRE(absl::StrContains(launch.Log("two0"), "written to "));
  REQUIRE_FALSE(absl::StrContains(launch.Log("two1"), "written to "));
  REQUIRE(absl::StrContains(launch.Log("two1"), "process 1 of 2 is done"));
}

// The processes that a process has started.
std::vector<std::string> ChildrenOf(pid_t pid) {
  const auto line = ReadFile(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  REQUIRE(line.ok());
  return absl::StrSplit(*line, ' ', absl::SkipWhitespace());
}

// Whether there is no such process, or only what its parent has not yet asked about.
bool HasEnded(const std::string& pid) {
  const auto stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  return !stat.ok() || absl::StrContains(*stat, ") Z ");
}

TEST_CASE("one command starts several processes, which learn as one does") {
  Launch launch(/*steps=*/8);
  REQUIRE(launch.Start("alone", "alone0", {})->Wait() == kSuccess);
  const auto status = launch.Start("two", "log", {}, {"--processes", "2"})->Wait();
  INFO(launch.Log("log"));
  REQUIRE(status == kSuccess);
  const std::vector<double> losses = launch.Losses("two"), of_one = launch.Losses("alone");
  REQUIRE(losses.size() == of_one.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    REQUIRE(losses[i] == Approx(of_one[i]).epsilon(1e-3));
  }
  REQUIRE(absl::StrContains(launch.Log("log"), "written to "));
  REQUIRE(absl::StrContains(launch.Log("log"), "process 1 of 2 is done"));
}

TEST_CASE("one command's processes stop with it, in order or not") {
  const int signal = GENERATE(SIGTERM, SIGINT, SIGKILL);
  CAPTURE(signal);
  Launch launch(/*steps=*/1'000'000);
  const auto parent = launch.Start("two", "log", {}, {"--processes=2"});
  AwaitUntil([&] { return launch.HasReported("two"); });
  const auto children = ChildrenOf(parent->pid());
  REQUIRE(children.size() == 2);
  REQUIRE(parent->Signal(signal).ok());
  REQUIRE(parent->Wait() == (signal == SIGKILL ? 128 + SIGKILL : kRunAgain));
  AwaitUntil([&] { return HasEnded(children[0]) && HasEnded(children[1]); });
  REQUIRE(launch.HasCheckpoint("two"));
}

TEST_CASE("when one of a command's processes is killed the command ends, to be run again") {
  Launch launch(/*steps=*/1'000'000);
  const auto parent = launch.Start("two", "log", {}, {"--processes=2"});
  AwaitUntil([&] { return launch.HasReported("two"); });
  int child = 0;
  REQUIRE(absl::SimpleAtoi(ChildrenOf(parent->pid())[1], &child));
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(parent->Wait() == kRunAgain);
  REQUIRE(absl::StrContains(launch.Log("log"), "another one has ended"));
}

TEST_CASE("a command ends when one of its processes fails before it has met the others") {
  Launch launch(/*steps=*/8);
  // What another launcher would say is not handed on.
  const Environment environment = {{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                   {"GLOO_SOCKET_IFNAME", "none"}};
  // Only process 0 writes, and it cannot.
  REQUIRE(launch.Start("made.regions/out", "log", environment, {"--processes=2"})->Wait() ==
          kFailure);
  REQUIRE(launch.Start("two", "log", environment, {"--processes=2"})->Wait() == kSuccess);
}

TEST_CASE("a second signal ends a command of which a process hangs") {
  Launch launch(/*steps=*/1'000'000);
  const auto process = launch.Start("two", "log", {}, {"--processes=2"});
  AwaitUntil([&] { return launch.HasReported("two"); });
  const std::vector<std::string> children = absl::StrSplit(
      *ReadFile(absl::StrCat("/proc/", process->pid(), "/task/", process->pid(), "/children")), ' ',
      absl::SkipEmpty());
  REQUIRE(children.size() == 2);
  int child = 0;
  REQUIRE(absl::SimpleAtoi(children[1], &child));
  REQUIRE(::kill(child, SIGSTOP) == 0);
  REQUIRE(process->Signal(SIGTERM).ok());
  // Another one: two of a kind that come before the first is seen to are one.
  REQUIRE(process->Signal(SIGINT).ok());
  REQUIRE(process->Wait() == kRunAgain);
}

TEST_CASE("a command that a launcher has started starts no others") {
  Launch launch(/*steps=*/8);
  const Environment environment = {
      {"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1"}};
  REQUIRE(launch.Start("two", "log", environment, {"--processes=2"})->Wait() == kUsageError);
  REQUIRE(absl::StrContains(launch.Log("log"), "leave --processes out"));
}

TEST_CASE("a command starts no more processes than a machine can bear") {
  Launch launch(/*steps=*/8);
  REQUIRE(launch.Start("two", "log", {}, {"--processes=1000"})->Wait() == kUsageError);
  REQUIRE(absl::StrContains(launch.Log("log"), "--processes is 1000, and of this machine"));
}

TEST_CASE("when one process is interrupted all stop, and may be started again") {
  Launch launch(/*steps=*/1'000'000);
  const auto processes = launch.StartTwo("two");
  AwaitUntil([&] { return launch.HasReported("two"); });
  REQUIRE(processes[1]->Signal(SIGTERM).ok());
  for (const auto& process : processes) REQUIRE(process->Wait() == kRunAgain);
  REQUIRE(launch.HasCheckpoint("two"));
}

TEST_CASE("a process that is told to stop while it waits for another one stops at once") {
  Launch launch(/*steps=*/8, /*peer_timeout=*/"1h");
  const auto process = launch.Start("two", "two1",
                                    {{"WORLD_SIZE", "2"},
                                     {"RANK", "1"},
                                     {"MASTER_ADDR", "127.0.0.1"},
                                     {"MASTER_PORT", absl::StrCat((*ChooseFreePorts(1))[0])}});
  AwaitUntil(
      [&] { return absl::StrContains(launch.Log("two1"), "meets the others at 127.0.0.1"); });
  REQUIRE(process->Signal(SIGTERM).ok());
  REQUIRE(process->Wait() == kRunAgain);
  REQUIRE(absl::StrContains(launch.Log("two1"), "stopped; the same command continues"));
}

TEST_CASE("when one process is killed the other ends, and says why") {
  Launch launch(/*steps=*/1'000'000);
  const auto processes = launch.StartTwo("two");
  AwaitUntil([&] { return launch.HasReported("two"); });
  REQUIRE(processes[1]->Signal(SIGKILL).ok());
  REQUIRE(processes[0]->Wait() == kRunAgain);
  REQUIRE(absl::StrContains(launch.Log("two0"), "another one has ended"));
}

TEST_CASE("an environment that contradicts itself is told before anything is done") {
  Launch launch(/*steps=*/8);
  REQUIRE(launch.Start("two", "log", {{"WORLD_SIZE", "2"}})->Wait() == kUsageError);
  REQUIRE(absl::StrContains(launch.Log("log"), "no RANK"));
}

}  // namespace
}  // namespace sightline
