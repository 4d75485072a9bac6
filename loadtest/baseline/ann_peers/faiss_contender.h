// FAISS's own indexes, from the source and with the flags that ours are compiled with.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_FAISS_CONTENDER_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_FAISS_CONTENDER_H_

#include <memory>
#include <string>

#include "loadtest/baseline/ann_peers/contender.h"

namespace sightline {

// `factory` is in the language of FAISS's index_factory: "HNSW32", "IVF1024,SQ8",
// "IVF1024,PQ192x4fs,RFlat".  What it cannot read, Build tells.
std::unique_ptr<Contender> FaissContender(const std::string& factory);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_FAISS_CONTENDER_H_
