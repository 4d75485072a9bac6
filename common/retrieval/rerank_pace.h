// How fast the reranker is at the moment, as this router sees it, and how many candidates of a
// request therefore fit into its time.
//
// The pace is what is answered in the time in which there is something to answer, the last
// seconds counting most: with all waiting in queues, and with all that other routers ask for.
// What is under way is known at once, so a request sees those before it and not only what became
// of them: the loop has no delay that could make it swing.
//
//   RerankShare share = pace->Take(asked, least, now, deadline);
//   ... send share.pairs() candidates ...
//   share.Answered(10, sent, now);   // of a slice; what is not answered ends with the share
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

class RerankPace;

// The candidates that one request sends.  Used by one thread; movable.
class RerankShare {
 public:
  RerankShare() = default;  // of nothing, and nobody is told what is answered
  ~RerankShare();
  RerankShare(RerankShare&& other) noexcept;
  RerankShare& operator=(RerankShare&& other) = delete;

  int pairs() const { return pairs_; }

  // That many of them have been answered at `now`, asked for at `sent`.
  void Answered(int pairs, absl::Time sent, absl::Time now);

 private:
  friend class RerankPace;
  RerankShare(std::shared_ptr<RerankPace> pace, int pairs);

  std::shared_ptr<RerankPace> pace_;
  int pairs_ = 0;
  int under_way_ = 0;
};

// Of one cross-encoder.  Thread-safe; the times that it is given hardly ever go back.
class RerankPace : public std::enable_shared_from_this<RerankPace> {
 public:
  // As many of `asked` candidates as fit between `now` and `deadline`:
  // - behind what is under way, at the pace that is known, and
  // - in the same proportion for all requests of these seconds, so that together they ask for no
  //   more than is answered, with a queue that leaves each its time.
  // All of them while no pace is known, and at least `least` while nothing is under way: a slow
  // spell must not outlive itself because nobody tries.
  RerankShare Take(int asked, int least, absl::Time now, absl::Time deadline);

  // All of them, for a request of which nothing can be left out.
  RerankShare TakeAll(int pairs, absl::Time now);

  // Candidates a second; 0 while it is not known.
  double PairsPerSecond(absl::Time now) const;

 private:
  friend class RerankShare;

  void Forget(absl::Time now) REQUIRES(mutex_);
  double Pace(absl::Time now) const REQUIRES(mutex_);
  int Fitting(int asked, absl::Time now, absl::Duration time) const REQUIRES(mutex_);
  void Answered(int pairs, absl::Time sent, absl::Time now);
  void Leave(int pairs);

  mutable Mutex mutex_;
  // Sums over the past in which what lies kMemory back counts 1/e.
  double asked_ GUARDED_BY(mutex_) = 0;     // candidates
  double answered_ GUARDED_BY(mutex_) = 0;  // candidates
  double busy_ GUARDED_BY(mutex_) = 0;      // seconds in which they were waited for
  absl::Time as_of_ GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time last_answer_ GUARDED_BY(mutex_) = absl::InfinitePast();
  int under_way_ GUARDED_BY(mutex_) = 0;  // candidates
};

// The paces of the cross-encoders of a fleet: slow ones and fast ones may share servers.
// Thread-safe.
class RerankPaces {
 public:
  // `model` is the SHA-256 of its bundle.  Never null.
  std::shared_ptr<RerankPace> Of(absl::string_view model);

 private:
  // Generations come and go; more than these are not served at a time.
  static constexpr size_t kMost = 64;

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<RerankPace>, std::less<>> paces_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_
