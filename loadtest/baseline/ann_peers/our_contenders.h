// Our kinds of index, as a server searches them.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/baseline/ann_peers/contender.h"

namespace sightline {

// `spec` is a kind, then what differs from its defaults, each as NAME=VALUE: "hnsw code=int8
// rows=float16", "ivf code=pq4 list_count=4096 refine=20".  Names are those of IvfSpec and
// HnswSpec, and `rows` what vectors are stored as, float32 where it is not said.  InvalidArgument,
// saying what to change, for a spec that this program cannot read, or has no kind for.
absl::StatusOr<std::unique_ptr<Contender>> OurContender(const std::string& spec, int64_t items,
                                                        int dimension);

// The specs of all kinds that this program has, with each of their codes.
std::vector<std::string> OurSpecs();

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_OUR_CONTENDERS_H_
