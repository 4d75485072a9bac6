#include "common/base/descriptor.h"

#include <fcntl.h>

#include <utility>

#include "tests/support/catch.h"

namespace sightline {
namespace {

int Open() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool IsOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST_CASE("a descriptor is closed at the end of its scope") {
  const int fd = Open();
  {
    const Descriptor descriptor(fd);
    REQUIRE(descriptor.get() == fd);
    REQUIRE(IsOpen(fd));
  }
  REQUIRE_FALSE(IsOpen(fd));
}

TEST_CASE("a descriptor that was moved or released is its new owner's") {
  const int fd = Open();
  int released = -1;
  {
    Descriptor first(fd);
    Descriptor second(std::move(first));
    REQUIRE(second.get() == fd);
    REQUIRE(first.get() < 0);
    released = second.Release();
  }
  REQUIRE(released == fd);
  REQUIRE(IsOpen(fd));
  ::close(fd);
}

TEST_CASE("a descriptor that was closed is not closed again") {
  const int fd = Open();
  Descriptor descriptor(fd);
  descriptor.Close();
  REQUIRE_FALSE(IsOpen(fd));
  const Descriptor other(Open());  // most likely with the same number
  descriptor.Close();
  REQUIRE(IsOpen(other.get()));
}

}  // namespace
}  // namespace sightline
