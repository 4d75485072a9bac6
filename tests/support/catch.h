// Catch2 of either Debian: version 2 is one header, version 3 a library that has given some
// things other names.  Tests write those of version 2.
//
// The one file that defines CATCH_CONFIG_RUNNER first (catch_main.cc) gets what makes a
// main(), and on version 2 carries the library's code.
#ifndef SIGHTLINE_TESTS_SUPPORT_CATCH_H_
#define SIGHTLINE_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch_test_macros.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#ifdef CATCH_CONFIG_RUNNER
#include <catch2/catch_session.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

inline auto Contains(const std::string& part) {
  return Matchers::ContainsSubstring(part);
}

#ifdef CATCH_CONFIG_RUNNER
struct TestEventListenerBase : EventListenerBase {
  using EventListenerBase::EventListenerBase;
};

// Makes a run in which no test ran a failure, which it is here unless told otherwise.
inline void RefuseToRunNothing(Session*) {}
#endif

}  // namespace Catch

using Catch::Approx;

#else

#include <catch2/catch.hpp>

#ifdef CATCH_CONFIG_RUNNER
namespace Catch {

// Makes a run in which no test ran a failure.
inline void RefuseToRunNothing(Session* session) {
  session->configData().warnings =
      static_cast<WarnAbout::What>(session->configData().warnings | WarnAbout::NoTests);
}

}  // namespace Catch
#endif

#endif

#endif  // SIGHTLINE_TESTS_SUPPORT_CATCH_H_
