// What somebody probably meant who wrote something else.
#ifndef SIGHTLINE_COMMON_CONFIG_NEAREST_NAME_H_
#define SIGHTLINE_COMMON_CONFIG_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// The name in `known` that `name` was probably meant to be: the one with the fewest letters
// wrong, missing or too many, if these are two or at most a third of it.  Empty if none is near.
std::string NearestName(absl::string_view name, const std::vector<std::string>& known);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_NEAREST_NAME_H_
