// main() of every Catch2 test.  After the run it prints `cases: P passed, F failed`,
// which tests/run.sh adds up.
#define CATCH_CONFIG_RUNNER
#include <iostream>

#include "tests/support/catch.h"

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

#if defined(__SANITIZE_THREAD__)
// Abseil of the distribution is not instrumented: the sanitizer sees a status freed by the
// last of two threads that held copies, and not the reference count that orders them.
extern "C" const char* __tsan_default_suppressions() {
  return "race:absl::debian*Status*::Unref\n";  // Status or, on Debian 13, StatusRep
}
#endif

int main(int argc, char** argv) {
  Catch::Session session;
  const int bad_usage = session.applyCommandLine(argc, argv);
  if (bad_usage != 0) return bad_usage;
  Catch::RefuseToRunNothing(&session);  // it must not look like success
  return session.run();
}
