#include "common/generations/held_device.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::shared_ptr<HeldDevice> DeviceOf(int64_t limit, MetricsRegistry* metrics, int* described) {
  return HeldDevice::Make(
      3, limit,
      [described]() -> absl::StatusOr<device::DeviceInfo> {
        if (++*described == 1) return absl::UnavailableError("not yet");
        return device::DeviceInfo{"Great GPU", 1000};
      },
      metrics);
}

bool Shows(const MetricsRegistry& metrics, const std::string& line) {
  INFO(metrics.Render());
  return metrics.Render().find("sightline_" + line + "\n") != std::string::npos;
}

TEST_CASE("a device is asked what it is until it has said so, and is known by then") {
  int described = 0;
  const auto device = DeviceOf(0, nullptr, &described);
  CHECK(absl::IsUnavailable(device->Limit().status()));
  CHECK(device->Status().name.empty());
  CHECK(*device->Limit() == 900);
  CHECK(*device->Limit() == 900);
  CHECK(described == 2);
  CHECK(device->Status().number == 3);
  CHECK(device->Status().name == "Great GPU");
  CHECK(device->Status().memory_bytes == 1000);
  int again = 1;
  CHECK(*DeviceOf(70, nullptr, &again)->Limit() == 70);
}

TEST_CASE("memory is held as long as somebody has what stands for it, who may outlive the rest") {
  MetricsRegistry metrics;
  int described = 1;
  auto device = DeviceOf(0, &metrics, &described);
  auto one = device->Hold(5);
  auto other = device->Hold(7);
  CHECK(one != nullptr);
  CHECK(device->Status().held_bytes == 12);
  CHECK(Shows(metrics, "device_held_bytes{device=\"3\"} 12"));
  one.reset();
  CHECK(device->Status().held_bytes == 7);
  device.reset();
  CHECK(Shows(metrics, "device_held_bytes{device=\"3\"} 7"));
  other.reset();
  CHECK(Shows(metrics, "device_held_bytes{device=\"3\"} 0"));
}

TEST_CASE("passes are summed up, but for those that failed") {
  MetricsRegistry metrics;
  int described = 1;
  const auto device = DeviceOf(0, &metrics, &described);
  const device::PassStats recorded = {true, 100, 10, absl::Milliseconds(1), absl::Milliseconds(4)};
  const device::PassStats single = {false, 150, 10, absl::Milliseconds(1), absl::Milliseconds(4),
                                    true};
  const device::PassStats never = {false, 50, 10, absl::Milliseconds(1), absl::Milliseconds(2)};
  for (const device::PassStats* pass : {&recorded, &single, &never, &recorded}) {
    device->Began();
    device->Ended(pass);
  }
  device->Ended(nullptr);
  const DeviceWork work = device->Status().work;
  CHECK(work.pass_count == 4);
  CHECK(work.recorded_count == 2);
  CHECK(work.took == absl::Milliseconds(14));
  CHECK(work.waited == absl::Milliseconds(4));
  CHECK(work.bytes_in == 400);
  CHECK(work.bytes_out == 40);
  CHECK(Shows(metrics, "device_passes_total{device=\"3\",launches=\"recorded\"} 2"));
  CHECK(Shows(metrics, "device_passes_total{device=\"3\",launches=\"single\"} 1"));
  CHECK(Shows(metrics, "device_passes_total{device=\"3\",launches=\"never\"} 1"));
  CHECK(Shows(metrics, "device_pass_seconds_count{device=\"3\"} 4"));
  CHECK(Shows(metrics, "device_wait_seconds_count{device=\"3\"} 4"));
  CHECK(Shows(metrics, "device_copied_bytes_total{device=\"3\",direction=\"in\"} 400"));
  CHECK(Shows(metrics, "device_copied_bytes_total{device=\"3\",direction=\"out\"} 40"));
}

}  // namespace
}  // namespace sightline
