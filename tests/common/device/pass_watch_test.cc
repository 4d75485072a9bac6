#include "common/device/pass_watch.h"

#include <stdexcept>
#include <string>

#include "absl/time/time.h"
#include "tests/support/catch.h"

namespace sightline::device {
namespace {

class Listener : public PassWatch {
 public:
  void Began() override { heard += "began "; }
  void Ended(const PassStats* pass) override {
    heard += pass == nullptr ? "failed " : "ended ";
    if (pass != nullptr) REQUIRE(pass->took >= absl::ZeroDuration());
  }

  std::string heard;
};

TEST_CASE("a watch is told of a pass that ended, and of one that an exception ended") {
  Listener listener;
  { const PassScope pass(&listener); }
  REQUIRE(listener.heard == "began ended ");
  try {
    const PassScope pass(&listener);
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
  }
  REQUIRE(listener.heard == "began ended began failed ");
}

TEST_CASE("a pass while another exception ends something else has not failed") {
  Listener listener;
  struct AtEnd {
    ~AtEnd() { const PassScope pass(listener); }
    Listener* listener;
  };
  try {
    const AtEnd at_end{&listener};
    throw std::runtime_error("of somebody else");
  } catch (const std::runtime_error&) {
  }
  REQUIRE(listener.heard == "began ended ");
}

TEST_CASE("nobody need be told") {
  const PassScope pass(nullptr);
}

}  // namespace
}  // namespace sightline::device
