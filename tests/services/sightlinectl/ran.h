// A command as it is typed, and what comes of it.
#ifndef SIGHTLINE_TESTS_SERVICES_SIGHTLINECTL_RAN_H_
#define SIGHTLINE_TESTS_SERVICES_SIGHTLINECTL_RAN_H_

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

struct Ran {
  int status = 0;
  std::string out, err;
};

inline Ran RanBy(
    const std::function<int(const std::vector<std::string>& args, const Console& console)>& command,
    const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = command(args, {out, err});
  return {status, out.str(), err.str()};
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_SIGHTLINECTL_RAN_H_
