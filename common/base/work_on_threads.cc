#include "common/base/work_on_threads.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace sightline {

absl::Status WorkOnThreads(int threads, size_t count,
                           const std::function<absl::Status(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  Mutex mutex;
  absl::Status first_error;
  const auto run = [&] {
    while (!failed) {
      const size_t i = next++;
      if (i >= count) return;
      const absl::Status status = work(i);
      if (status.ok()) continue;
      failed = true;
      MutexLock lock(mutex);
      if (first_error.ok()) first_error = status;
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < std::max(1, threads); ++i) workers.emplace_back(run);
  for (std::thread& worker : workers) worker.join();
  return first_error;
}

}  // namespace sightline
