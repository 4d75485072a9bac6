#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "loadtest/fleet/process.h"
#include "tests/integration/member.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// The number behind "<key>": in a JSON log line.
int NumberIn(absl::string_view line, absl::string_view key) {
  const std::string quoted = absl::StrCat("\"", key, "\":");
  const size_t at = line.find(quoted);
  int number = 0;
  if (at != absl::string_view::npos) {
    absl::string_view rest = line.substr(at + quoted.size());
    (void)absl::SimpleAtoi(rest.substr(0, rest.find_first_of(",}")), &number);
  }
  return number;
}

class ProcessMember : public Member {
 public:
  ProcessMember(const std::string& service, const std::string& yaml) {
    const std::string config = JoinPath(directory_.path(), service + ".yaml");
    if (!WriteFileAtomically(config, yaml).ok()) throw std::runtime_error("cannot write " + config);
    Spawn(absl::StrCat("services/", service, "/", service), config);
    AwaitStarted(service);
    // The rest of its log must go somewhere, or a full pipe would stop it.
    echo_ = std::thread([log = log_] {
      char line[4096];
      while (std::fgets(line, sizeof(line), log) != nullptr) std::fputs(line, stderr);
    });
  }

  ~ProcessMember() override {
    if (alive()) Terminate();
    if (echo_.joinable()) echo_.join();
    if (log_ != nullptr) std::fclose(log_);
  }

  int port() const override { return port_; }
  int metrics_port() const override { return metrics_port_; }

  void Kill() override {
    (void)process_->Signal(SIGKILL);
    (void)process_->Wait();
  }

  int Terminate() override {
    (void)process_->Signal(SIGTERM);
    return *process_->Wait();
  }

  bool alive() override { return process_->running(); }
  int pid() const override { return process_->pid(); }

 private:
  void Spawn(const std::string& binary, const std::string& config) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    auto started = Process::StartWithOutput({binary, "--config", config}, ends[1]);
    ::close(ends[1]);
    log_ = ::fdopen(ends[0], "r");
    if (!started.ok()) throw std::runtime_error(started.status().ToString());
    process_ = *std::move(started);
  }

  // Reads the log up to the line that names the ports; its end means that the process
  // has ended.
  void AwaitStarted(const std::string& service) {
    char line[4096];
    while (std::fgets(line, sizeof(line), log_) != nullptr) {
      std::fputs(line, stderr);
      if (absl::string_view(line).find("\"event\":\"started\"") == absl::string_view::npos)
        continue;
      port_ = NumberIn(line, "port");
      metrics_port_ = NumberIn(line, "metrics_port");
      return;
    }
    throw std::runtime_error(service + " ended before it had started");
  }

  TempDir directory_;
  std::unique_ptr<Process> process_;
  FILE* log_ = nullptr;
  int port_ = 0;
  int metrics_port_ = 0;
  std::thread echo_;
};

}  // namespace

std::unique_ptr<Member> LaunchProcess(const std::string& service, const std::string& yaml) {
  return std::make_unique<ProcessMember>(service, yaml);
}

}  // namespace sightline
