// Preloaded into a program (LD_PRELOAD), ends it with SIGKILL before its n-th call of those
// that change files or send: a point that is the same in every run, but for which thread comes
// first.
//
//   KILL_AT=n          the call, counted from 1; none: all are made
//   KILL_SIGNAL=s      instead of SIGKILL
//   KILL_ERRNO=e       instead of any signal: this call and all that follow fail with errno e
//   KILL_AT_COUNT=f    at its end the program writes to the file f how many there were
//
// Processes that it forks (decoders) are not counted.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<long> calls{0};
long kill_at = 0, kill_signal = SIGKILL, kill_errno = 0;
pid_t program = 0;

// Whether the call that is about to be made fails instead; errno is set then.
bool Fails() {
  if (::getpid() != program) return false;
  const long call = ++calls;
  if (kill_errno == 0 && call == kill_at) ::kill(program, static_cast<int>(kill_signal));
  if (kill_errno == 0 || kill_at == 0 || call < kill_at) return false;
  errno = static_cast<int>(kill_errno);
  return true;
}

void Read(const char* name, long* number) {
  const char* const text = ::getenv(name);
  if (text != nullptr) *number = ::strtol(text, nullptr, 10);
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void Begin() {
  program = ::getpid();
  Read("KILL_AT", &kill_at);
  Read("KILL_SIGNAL", &kill_signal);
  Read("KILL_ERRNO", &kill_errno);
}

__attribute__((destructor)) void End() {
  const char* const path = ::getenv("KILL_AT_COUNT");
  if (path == nullptr || ::getpid() != program) return;
  FILE* const file = ::fopen(path, "w");
  if (file == nullptr) return;
  ::fprintf(file, "%ld\n", calls.load());
  ::fclose(file);
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
  if (Fails()) return -1;
  return Next<int(const char*, const char*)>("rename")(from, to);
}

int link(const char* from, const char* to) noexcept {
  if (Fails()) return -1;
  return Next<int(const char*, const char*)>("link")(from, to);
}

int unlink(const char* path) noexcept {
  if (Fails()) return -1;
  return Next<int(const char*)>("unlink")(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (Fails()) return -1;
  return Next<int(const char*, mode_t)>("mkdir")(path, mode);
}

int fsync(int fd) {
  if (Fails()) return -1;
  return Next<int(int)>("fsync")(fd);
}

int ftruncate(int fd, off_t size) noexcept {
  if (Fails()) return -1;
  return Next<int(int, off_t)>("ftruncate")(fd, size);
}

ssize_t send(int fd, const void* bytes, size_t count, int flags) {
  if (Fails()) return -1;
  return Next<ssize_t(int, const void*, size_t, int)>("send")(fd, bytes, count, flags);
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  if (Fails()) return -1;
  return Next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, bytes, count, offset);
}
}
