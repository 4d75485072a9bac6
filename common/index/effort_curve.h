// What efforts of a shard's index are worth, as measured when it was built.
#ifndef SIGHTLINE_COMMON_INDEX_EFFORT_CURVE_H_
#define SIGHTLINE_COMMON_INDEX_EFFORT_CURVE_H_

#include <vector>

#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Recall that a search gets which asks for none, where the generation names none.
inline constexpr double kDefaultRecall = 0.95;

// How many of the best that is the recall of, in a spec and in a floor.
inline constexpr int kRecallAmong = 10;

// Of a generation's searches that ask for none.
inline double DefaultRecallOf(const bundle::v1::GenerationManifest& manifest) {
  const double named = manifest.index_spec().default_recall();
  return named > 0 ? named : kDefaultRecall;
}

// A value, immutable.  Between two points recall and time are taken to run straight; recall among
// more than ten is taken to run straight, too, in the logarithm of k, through that of 10 and that
// of 100.  Beyond a hundred nothing was measured: there it is at most what leaves misses growing as
// k^0.7, which is about what the demo's pictures show, where a thousand are a ninth of all.  Time
// beyond all points is taken to grow with the effort.
class EffortCurve {
 public:
  // Of a shard of an exact kind, or of one that nobody has measured: no points.
  EffortCurve() = default;
  explicit EffortCurve(const bundle::v1::ShardManifest& shard);

  bool empty() const { return points_.empty(); }

  // The least effort that finds `recall` of the best `top_k`, by what was measured; the greatest
  // point's where none does.  limits::kMaxEffort, which is everything, for all of them.
  // kDefaultEffort of an empty curve.
  int EffortFor(double recall, int top_k) const;

  // What `effort` finds of the best `top_k`, 0 to 1; beyond the points as at the greatest, below
  // them in proportion to the least.  0 of an empty curve.
  double RecallAt(int effort, int top_k) const;

  // Time of a query alone on one thread, of the machine that built; 0 of an empty curve.
  double SecondsAt(int effort) const;

  // The greatest effort of at most `seconds`, at least the least point's, at most
  // limits::kMaxEffort.
  int EffortWithin(double seconds) const;

 private:
  std::vector<bundle::v1::EffortPoint> points_;  // ascending in effort
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_EFFORT_CURVE_H_
