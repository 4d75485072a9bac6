// A file descriptor that closes itself.
#ifndef SIGHTLINE_COMMON_BASE_DESCRIPTOR_H_
#define SIGHTLINE_COMMON_BASE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace sightline {

class Descriptor {
 public:
  // Takes `fd`; negative means none.
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }
  // The caller's to close from now on.
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) ::close(Release());
  }

 private:
  int fd_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_DESCRIPTOR_H_
