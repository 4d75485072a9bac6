#include "services/corpus_encoder/device_timeline.h"

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Step = DeviceTimeline::Step;
using Scope = DeviceTimeline::Scope;

const device::PassStats kPass;

struct Rig {
  void Pass(int seconds) { clock.Advance(absl::Seconds(seconds)); }

  FakeClock clock;
  DeviceTimeline timeline{&clock};
};

TEST_CASE("a device that has no pass waits for the nearest to one: who encodes, writes, awaits") {
  Rig rig;
  rig.Pass(100);  // before anybody is at work
  {
    const Scope awaiting(&rig.timeline, Step::kAwaiting);
    rig.Pass(1);
    const Scope writing(&rig.timeline, Step::kWriting);
    rig.Pass(2);
    const Scope encoding(&rig.timeline, Step::kEncoding);
    rig.Pass(4);
  }
  rig.Pass(100);
  const Scope end(&rig.timeline, Step::kAwaiting);
  const DeviceTime time = rig.timeline.time();
  CHECK(time.for_pictures == absl::Seconds(1));
  CHECK(time.for_files == absl::Seconds(2));
  CHECK(time.for_host == absl::Seconds(4));
  CHECK(time.busy == absl::ZeroDuration());
  CHECK(time.total() == absl::Seconds(7));
}

TEST_CASE("what an earlier run has left is looked through while nobody waits for pictures") {
  Rig rig;
  const Scope awaiting(&rig.timeline, Step::kAwaiting);
  rig.Pass(1);
  {
    const Scope checking(&rig.timeline, Step::kChecking);
    rig.Pass(50);
    const Scope writing(&rig.timeline, Step::kWriting);
    rig.Pass(2);
  }
  rig.Pass(4);
  const Scope more(&rig.timeline, Step::kAwaiting);
  CHECK(rig.timeline.time().for_pictures == absl::Seconds(5));
  CHECK(rig.timeline.time().for_files == absl::Seconds(2));
}

TEST_CASE("a device with a pass is busy, once for several, whatever threads are at") {
  Rig rig;
  const Scope encoding(&rig.timeline, Step::kEncoding);
  const Scope writing(&rig.timeline, Step::kWriting);
  rig.timeline.Began();
  rig.Pass(3);
  rig.timeline.Began();
  rig.Pass(4);
  rig.timeline.Ended(&kPass);
  rig.Pass(5);
  rig.timeline.Ended(&kPass);
  rig.timeline.Began();
  rig.timeline.Ended(nullptr);
  rig.Pass(4);
  const Scope more(&rig.timeline, Step::kEncoding);
  const DeviceTime time = rig.timeline.time();
  CHECK(time.busy == absl::Seconds(12));
  CHECK(time.for_host == absl::Seconds(4));
  CHECK(time.for_files == absl::ZeroDuration());
  CHECK(time.pass_count == 2);
  CHECK(time.BusyShare() == "75.0 %");
}

TEST_CASE("before anything was done there is no share") {
  CHECK(DeviceTime().BusyShare() == "-");
}

TEST_CASE("steps of no device are nobody's") {
  const Scope none(nullptr, Step::kEncoding);
}

}  // namespace
}  // namespace sightline
