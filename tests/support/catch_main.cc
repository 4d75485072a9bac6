// main() of every Catch2 test.  After the run it prints `cases: P passed, F failed`,
// which tests/run.sh adds up.
#define CATCH_CONFIG_RUNNER
#include <iostream>

#include "catch2/catch.hpp"

namespace {

struct CaseCounter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testRunEnded(const Catch::TestRunStats& stats) override {
    std::cout << "cases: " << stats.totals.testCases.passed << " passed, "
              << stats.totals.testCases.failed << " failed" << std::endl;
  }
};

CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  const int bad_usage = session.applyCommandLine(argc, argv);
  if (bad_usage != 0) return bad_usage;
  // A test program in which nothing ran must not look like success.
  session.configData().warnings = static_cast<Catch::WarnAbout::What>(
      session.configData().warnings | Catch::WarnAbout::NoTests);
  return session.run();
}
