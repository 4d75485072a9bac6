#include "common/config/standard_descriptors.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// What `child` returns in a process of its own.
int InChild(const std::function<int()>& child) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) ::_exit(child());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("what is opened later has another number than standard descriptors that were closed") {
  for (const int closed : {0, 1, 2}) {
    CAPTURE(closed);
    CHECK(InChild([closed] {
            ::close(closed);
            TakeStandardDescriptors();
            return ::open("/dev/null", O_RDONLY);
          }) > STDERR_FILENO);
  }
  CHECK(InChild([] {
          for (const int number : {0, 1, 2}) ::close(number);
          TakeStandardDescriptors();
          return ::open("/dev/null", O_RDONLY);
        }) > STDERR_FILENO);
}

TEST_CASE("what goes through one that was closed fails, and those that are open stay") {
  CHECK(InChild([] {
          ::close(STDIN_FILENO);
          ::close(STDOUT_FILENO);
          TakeStandardDescriptors();
          char byte = 0;
          const bool fails = ::read(STDIN_FILENO, &byte, 1) < 0 && errno == EBADF &&
                             ::write(STDOUT_FILENO, &byte, 1) < 0 && errno == EBADF;
          return fails ? 0 : 1;
        }) == 0);
  CHECK(InChild([] {
          const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
          TakeStandardDescriptors();
          return ::fcntl(STDERR_FILENO, F_GETFL) == flags ? 0 : 1;
        }) == 0);
}

}  // namespace
}  // namespace sightline
