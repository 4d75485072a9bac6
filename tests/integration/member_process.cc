#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "tests/integration/member.h"
#include "tests/support/temp_dir.h"

extern char** environ;

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
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    gone_ = true;
  }

  int Terminate() override {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    gone_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  bool alive() override {
    if (!gone_ && ::waitpid(pid_, nullptr, WNOHANG) != 0) gone_ = true;
    return !gone_;
  }

 private:
  void Spawn(const std::string& binary, const std::string& config) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::string flag = "--config";
    std::string argument = config;
    std::string program = binary;
    char* argv[] = {program.data(), flag.data(), argument.data(), nullptr};
    const int failed = ::posix_spawn(&pid_, binary.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    log_ = ::fdopen(ends[0], "r");
    if (failed != 0) throw std::runtime_error("cannot start " + binary);
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
    ::waitpid(pid_, nullptr, 0);
    gone_ = true;
    throw std::runtime_error(service + " ended before it had started");
  }

  TempDir directory_;
  pid_t pid_ = -1;
  bool gone_ = false;
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
