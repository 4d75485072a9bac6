// One running server of a fleet under test: an object in this process, or a process of
// its own.
#ifndef SIGHTLINE_TESTS_INTEGRATION_MEMBER_H_
#define SIGHTLINE_TESTS_INTEGRATION_MEMBER_H_

#include <functional>
#include <memory>
#include <string>

namespace sightline {

class Member {
 public:
  // Stops the server, kindly.
  virtual ~Member() = default;

  virtual int port() const = 0;
  virtual int metrics_port() const = 0;

  // Takes it down at once, with calls in progress: SIGKILL for a process, cancellation
  // for an object.
  virtual void Kill() = 0;

  // Asks it to end and waits until it has: SIGTERM for a process, whose exit status this
  // is (128 and its number for a signal that ended it); a drain for an object, which is 0.
  // From one thread, while others may make calls.
  virtual int Terminate() = 0;

  // Whether it is still there.
  virtual bool alive() = 0;

  // Of a process, while it runs; 0 for an object.
  virtual int pid() const = 0;
};

// Starts `service` ("router", ...) with a configuration; returns when it listens and, for
// all but the router, serves.  Throws, which fails the test, if it does not.
using Launch =
    std::function<std::unique_ptr<Member>(const std::string& service, const std::string& yaml)>;

std::unique_ptr<Member> LaunchInProcess(const std::string& service, const std::string& yaml);

// Runs //services/<service>; its log goes to this process's stderr.
std::unique_ptr<Member> LaunchProcess(const std::string& service, const std::string& yaml);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_MEMBER_H_
