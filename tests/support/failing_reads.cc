#include "tests/support/failing_reads.h"

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "common/base/mutex.h"

namespace sightline {
namespace {

Mutex mutex;
ReadFault fault GUARDED_BY(mutex);
int seen GUARDED_BY(mutex) = 0;
std::atomic<bool> armed{false};

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string PathOf(int fd) {
  char link[64];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  char path[4096];
  const ssize_t length = ::readlink(link, path, sizeof(path));
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

ssize_t ReadWell(int fd, void* to, size_t length, off_t offset) {
  return ::syscall(SYS_pread64, fd, to, length, offset);
}

ssize_t Read(int fd, void* to, size_t length, off_t offset) {
  if (!armed) return ReadWell(fd, to, length, offset);
  const std::string path = PathOf(fd);
  int error = 0;
  std::function<void()> hang;
  {
    MutexLock lock(mutex);
    if (!armed || !EndsWith(path, fault.path) || seen++ < fault.healthy_reads) {
      return ReadWell(fd, to, length, offset);
    }
    error = fault.error;
    hang = fault.hang;
    if (error == kFlippedOnce && seen > fault.healthy_reads + 1) {
      return ReadWell(fd, to, length, offset);
    }
  }
  if (error == kHanging) {
    hang();
    return ReadWell(fd, to, length, offset);
  }
  if (error == kShortRead) return 0;
  if (error > 0) {
    errno = error;
    return -1;
  }
  const ssize_t got = ReadWell(fd, to, length, offset);
  if (got > 0) static_cast<char*>(to)[0] = static_cast<char>(static_cast<char*>(to)[0] ^ 1);
  return got;
}

// Of a file whose reads may fail nothing is in memory.
bool IsAtFault(int fd) {
  if (!armed) return false;
  const std::string path = PathOf(fd);
  MutexLock lock(mutex);
  return armed && EndsWith(path, fault.path);
}

}  // namespace

FailingReads::FailingReads(const ReadFault& wanted) {
  MutexLock lock(mutex);
  fault = wanted;
  seen = 0;
  armed = true;
}

FailingReads::~FailingReads() {
  MutexLock lock(mutex);
  armed = false;
}

int FailingReads::reads() const {
  MutexLock lock(mutex);
  return seen;
}

}  // namespace sightline

extern "C" ssize_t pread(int fd, void* to, size_t length, off_t offset) {
  return sightline::Read(fd, to, length, offset);
}

extern "C" ssize_t pread64(int fd, void* to, size_t length, off_t offset) {
  return sightline::Read(fd, to, length, offset);
}

extern "C" ssize_t preadv2(int fd, const iovec* to, int count, off_t offset, int flags) {
  if (sightline::IsAtFault(fd)) {
    errno = EAGAIN;
    return -1;
  }
  // The kernel takes the offset in two halves; of 64 bits the second is none.
  return ::syscall(SYS_preadv2, fd, to, count, offset, 0, flags);
}
