#include "common/embedding/candidate.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sightline {
namespace {

// The not yet merged rest of one list.
struct Rest {
  std::vector<Candidate>* list;
  size_t next;

  const Candidate& head() const { return (*list)[next]; }
};

// std's heaps keep the greatest on top; the best head is to be there.
bool HeadRanksAfter(const Rest& a, const Rest& b) {
  return RanksBefore(b.head(), a.head());
}

}  // namespace

std::vector<Candidate> MergeTopK(std::vector<std::vector<Candidate>> lists, int top_k) {
  std::vector<Rest> heap;
  heap.reserve(lists.size());
  size_t total = 0;
  for (auto& list : lists) {
    if (list.empty()) continue;
    total += list.size();
    heap.push_back({&list, 0});
  }
  std::make_heap(heap.begin(), heap.end(), HeadRanksAfter);

  const size_t wanted = std::min(total, static_cast<size_t>(std::max(top_k, 0)));
  std::vector<Candidate> merged;
  merged.reserve(wanted);
  while (merged.size() < wanted) {
    std::pop_heap(heap.begin(), heap.end(), HeadRanksAfter);
    Rest& best = heap.back();
    merged.push_back(std::move((*best.list)[best.next]));
    if (++best.next < best.list->size()) {
      std::push_heap(heap.begin(), heap.end(), HeadRanksAfter);
    } else {
      heap.pop_back();
    }
  }
  return merged;
}

}  // namespace sightline
