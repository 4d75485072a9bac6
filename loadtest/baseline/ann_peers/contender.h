// An index that is measured beside others: what it has to do, whoever wrote it.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_CONTENDER_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_CONTENDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/index/vector_index.h"

namespace sightline {

// How hard a search tries.
struct Effort {
  std::string label;  // "nprobe 8, refine 4"
  int breadth = 0;    // nprobe, efSearch
  int depth = 0;      // what the kind has beside it: how many times k are rescored; 0: nothing
};

// Efforts that a search may be made with, each finding more than the one before.
using Sweep = std::vector<Effort>;

// Not thread-safe.  A file is written and read by the same program on the same machine.
class Contender {
 public:
  virtual ~Contender() = default;

  // a-z, 0-9, - and what the library calls the kind.
  virtual const std::string& name() const = 0;
  // Whether it is one of ours, or a peer.
  virtual bool ours() const = 0;
  // Once loaded: one at least, of one effort at least.
  virtual std::vector<Sweep> Sweeps() const = 0;

  // Builds an index of `items` with `threads` threads and writes it to `path`.
  virtual absl::Status Build(const VectorView& items, int threads,
                             const std::string& path) const = 0;
  // Makes what several contenders have in common, beside `items`, if it is not there yet.
  virtual absl::Status Share(const VectorView& /*items*/) { return absl::OkStatus(); }
  // Reads what Build has written.  `items` are the same, and outlive the contender.
  virtual absl::Status Load(const VectorView& items, const std::string& path) = 0;

  // Bytes that it reads when it searches beside memory of its own: of `items`, or of what it
  // shares.
  virtual int64_t SharedBytes(const VectorView& /*items*/) const { return 0; }

  // Of all searches from now on.
  virtual void SetEffort(const Effort& effort) = 0;
  // The rows that are nearest to `query` by inner product, best first, in the calling thread.  At
  // most `k`; `rows` keeps its memory.
  virtual absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) = 0;
};

// 1, 2, 3, 4, 6, 8, 12, 16, ... : two steps to each doubling, from `least` to `most`.
std::vector<int> EffortLadder(int least, int most);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_CONTENDER_H_
