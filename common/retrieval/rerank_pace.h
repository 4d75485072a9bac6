// How fast the reranker is at the moment, as this router sees it, and how many candidates of a
// request therefore fit into its time.
//
// The pace is what is answered in the time in which there is something to answer, the last
// seconds counting most: with all waiting in queues, and with all that other routers ask for.
// What is under way is known at once, so a request sees those before it and not only what became
// of them: the loop has no delay that could make it swing.
//
// A pace is that of so many candidates under way as there were when it was measured.  With more,
// servers that had nothing to do may take part, and nobody knows before they answer; so it is
// taken to grow with what is under way beyond twice the usual.  A burst on idle servers is sent
// whole, and one on a single server teaches that there is no other.  Slices should take less than
// half of a request's time, or too few are ever under way to find all servers out.
//
// All requests have one horizon, about the shortest time that they come with: what may wait in the
// queue depends on it and not on the single request, or those with much time would fill the queue
// beyond what those with little can wait for.
//
//   RerankShare share = pace->Take(asked, least, now, deadline);
//   ... of share.pairs() candidates ...
//   share.Sent(10, now);
//   share.Answered(10, sent, now);   // or Lost(10); what is neither ends with the share
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

class RerankPace;

// The candidates that one request may send.  Used by one thread; movable.
class RerankShare {
 public:
  // Nobody is told what is answered.
  explicit RerankShare(int pairs = 0) : pairs_(pairs) {}
  ~RerankShare();
  RerankShare(RerankShare&& other) noexcept;
  RerankShare& operator=(RerankShare&& other) = delete;

  int pairs() const { return pairs_; }

  // That many of them are under way from `now` on.
  void Sent(int pairs, absl::Time now);
  // That many have been answered at `now`, asked for at `sent`.
  void Answered(int pairs, absl::Time sent, absl::Time now);
  // That many will not be answered.
  void Lost(int pairs);

 private:
  friend class RerankPace;
  RerankShare(std::shared_ptr<RerankPace> pace, int pairs, bool fitted);

  std::shared_ptr<RerankPace> pace_;
  int pairs_ = 0;
  bool fitted_ = false;  // by Take
  int under_way_ = 0;
};

// Of one cross-encoder.  Thread-safe; the times that it is given hardly ever go back.
class RerankPace : public std::enable_shared_from_this<RerankPace> {
 public:
  // As many of `asked` candidates as fit between `now` and `deadline`:
  // - behind what is under way, at the pace that is known, and
  // - in the same proportion for all requests of these seconds, so that together they ask for no
  //   more than is answered, with a queue that leaves each its time.
  // All of them while no pace is known.  While nothing is under way only the first counts, and at
  // least `least` fit: a slow spell must not outlive itself because nobody tries.
  RerankShare Take(int asked, int least, absl::Time now, absl::Time deadline);

  // All of them, for a request of which nothing can be left out.  They count as they are sent.
  RerankShare TakeAll(int pairs);

  // Candidates a second; 0 while it is not known.
  double PairsPerSecond(absl::Time now) const;

 private:
  friend class RerankShare;

  void Forget(absl::Time now) REQUIRES(mutex_);
  double DemandMemory() const REQUIRES(mutex_);  // seconds
  double Pace(absl::Time now) const REQUIRES(mutex_);
  void See(int asked, int least, double pace, double seconds) REQUIRES(mutex_);
  int Fitting(int asked, int least, double pace, double seconds) const REQUIRES(mutex_);
  void Sent(int pairs, bool fitted, absl::Time now);
  void Answered(int pairs, absl::Time sent, absl::Time now);
  void Leave(int pairs);

  mutable Mutex mutex_;
  // Sums over the past in which what lies kMemory back counts 1/e.
  double answered_ GUARDED_BY(mutex_) = 0;  // candidates
  double busy_ GUARDED_BY(mutex_) = 0;      // seconds in which they were waited for
  double waited_ GUARDED_BY(mutex_) = 0;    // seconds of these, of each candidate under way
  // Means over the past in which what lies DemandMemory back counts 1/e: candidates a second.
  double demand_ GUARDED_BY(mutex_) = 0;  // asked for, of Take
  double fixed_ GUARDED_BY(mutex_) = 0;   // sent, of TakeAll
  absl::Time as_of_ GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time last_answer_ GUARDED_BY(mutex_) = absl::InfinitePast();
  // Seconds that nine tenths of what is asked for have; 0 while nobody has asked.
  double horizon_ GUARDED_BY(mutex_) = 0;
  int under_way_ GUARDED_BY(mutex_) = 0;  // candidates
};

// The paces of the cross-encoders of a fleet: slow ones and fast ones may share servers.
// Thread-safe.
class RerankPaces {
 public:
  // `model` is the SHA-256 of its bundle, and what it is computed in.  Never null.
  std::shared_ptr<RerankPace> Of(absl::string_view model);

  // The same, or null if nobody has asked Of for it: for a `model` that somebody outside may have
  // made up.
  std::shared_ptr<RerankPace> Find(absl::string_view model);

 private:
  // Generations come and go; more than these are not served at a time.
  static constexpr size_t kMost = 64;

  using Paces = std::list<std::pair<std::string, std::shared_ptr<RerankPace>>>;

  Paces::iterator Search(absl::string_view model) REQUIRES(mutex_);
  void MakeRoom() REQUIRES(mutex_);

  Mutex mutex_;
  Paces paces_ GUARDED_BY(mutex_);  // the longest not asked for first
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RERANK_PACE_H_
