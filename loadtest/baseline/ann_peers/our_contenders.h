// Our kinds of index, as a server searches them.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_

#include <memory>
#include <vector>

#include "loadtest/baseline/ann_peers/contender.h"

namespace sightline {

// All that there are.
std::vector<std::unique_ptr<Contender>> OurContenders();

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_
