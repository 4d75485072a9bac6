// Environment variables of a test alone.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_VARIABLES_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_VARIABLES_H_

#include <map>
#include <string>
#include <utility>

#include "common/object_store/environment.h"

namespace sightline {

inline Environment Variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> absl::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return absl::nullopt;
    return found->second;
  };
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_VARIABLES_H_
