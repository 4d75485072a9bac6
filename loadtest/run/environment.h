// What a run's figures were measured on.
#ifndef SIGHTLINE_LOADTEST_RUN_ENVIRONMENT_H_
#define SIGHTLINE_LOADTEST_RUN_ENVIRONMENT_H_

#include <map>
#include <string>

namespace sightline {

// "cpu" (its model), "cores" that this process may use, "memory", "kernel".  What cannot be
// found out is left out.
std::map<std::string, std::string> DescribeEnvironment();

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_ENVIRONMENT_H_
