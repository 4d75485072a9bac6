// Starts what its arguments say, tells its number, and waits for ever: for a test that
// takes the owner away.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "loadtest/fleet/process.h"

int main(int argc, char** argv) {
  const auto child = sightline::Process::StartWithOutput(
      std::vector<std::string>(argv + 1, argv + argc), STDERR_FILENO);
  if (!child.ok()) return 1;
  std::printf("%d\n", static_cast<int>((*child)->pid()));
  std::fflush(stdout);
  for (;;) ::pause();
}
