// hnswlib, compiled alike.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_HNSWLIB_CONTENDER_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_HNSWLIB_CONTENDER_H_

#include <memory>

#include "loadtest/baseline/ann_peers/contender.h"

namespace sightline {

// `links` is its M: how many neighbors an item is joined to, twice as many in the lowest layer.
std::unique_ptr<Contender> HnswlibContender(int links);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_HNSWLIB_CONTENDER_H_
