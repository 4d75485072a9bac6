#include "tests/common/models/tiny_families.h"

#include <utility>

namespace sightline {

std::vector<TinyFamily> TinyFamilies() {
  std::vector<TinyFamily> all;
#define SIGHTLINE_FAMILY(family) \
  for (TinyFamily & each : family::TinyOnes()) all.push_back(std::move(each));
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY
  return all;
}

}  // namespace sightline
