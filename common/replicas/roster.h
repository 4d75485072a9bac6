// The members of a replica set, who of them is known to hold what, and how they compute it.
#ifndef SIGHTLINE_COMMON_REPLICAS_ROSTER_H_
#define SIGHTLINE_COMMON_REPLICAS_ROSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/api/generation.h"

namespace sightline {

struct Roster {
  // Who is known to hold one generation (of a shard's replicas: that shard of it).  Members
  // go by their place in `addresses`, and each is in one list at most.
  struct Holders {
    GenerationRef generation;
    std::vector<int> fit;
    // Asked where nobody else is left: they have not been heard of lately, or are about to end.
    std::vector<int> last_resort;
  };

  // Each once; never null.  A roster with the very list of the one before it has the same
  // members, which saves the set from looking.
  std::shared_ptr<const std::vector<std::string>> addresses =
      std::make_shared<const std::vector<std::string>>();
  std::vector<Holders> holders;  // one entry for a generation
  // What each member computes its models in, by SHA-256 of the bundle; by place in `addresses`.
  // Empty where that does not matter; a model that is not there is computed in "".
  std::vector<std::map<std::string, std::string>> precisions;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_ROSTER_H_
