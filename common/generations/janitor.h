// Frees what is expensive to free on a thread of its own.
//
// A model or a shard goes when its last user lets go, and the last user may well be a
// request.  Giving a gigabyte back takes a while; what the janitor has adopted is given back
// by the janitor, whoever was last.
#ifndef SIGHTLINE_COMMON_GENERATIONS_JANITOR_H_
#define SIGHTLINE_COMMON_GENERATIONS_JANITOR_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class Janitor {
 public:
  Janitor();

  // Frees what is waiting.  What is let go later is freed by whoever lets it go.
  ~Janitor();

  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  // The same object; freed by the janitor when its last holder has let go.
  template <typename T>
  std::shared_ptr<const T> Adopt(std::shared_ptr<const T> object) {
    const T* const raw = object.get();
    return std::shared_ptr<const T>(
        raw, [work = work_, object = std::move(object)](const T*) mutable {
          Leave(*work, [object = std::move(object)]() mutable { object.reset(); });
        });
  }

  // Returns when all that was let go before is freed.
  void Flush();

 private:
  struct Work {
    Mutex mutex;
    CondVar changed;
    std::deque<std::function<void()>> waiting GUARDED_BY(mutex);
    bool busy GUARDED_BY(mutex) = false;
    bool closed GUARDED_BY(mutex) = false;
  };
  static void Leave(Work& work, std::function<void()> free);
  void Run();

  const std::shared_ptr<Work> work_;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_JANITOR_H_
