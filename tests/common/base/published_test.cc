#include "common/base/published.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Two numbers that belong together as long as it lives.
struct Pair {
  explicit Pair(int n) : first(n), second(-n) {}
  ~Pair() { first = second = 1; }
  int first;
  int second;
};

TEST_CASE("what was set last is got, and lives as long as somebody has it") {
  Published<Pair> published(std::make_shared<const Pair>(1));
  const std::shared_ptr<const Pair> kept = published.Get();
  const std::weak_ptr<const Pair> dropped = [&] {
    published.Set(std::make_shared<const Pair>(2));
    return std::weak_ptr<const Pair>(published.Get());
  }();
  CHECK(kept->first == 1);
  CHECK(kept.use_count() == 1);
  CHECK(published.Get()->first == 2);
  published.Set(nullptr);
  CHECK(dropped.expired());
  CHECK(published.Get() == nullptr);
}

TEST_CASE("readers on many threads get one value or the next, whole, and never an older one") {
  Published<Pair> published(std::make_shared<const Pair>(0));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!stop) {
        const std::shared_ptr<const Pair> pair = published.Get();
        if (pair->first != -pair->second || pair->first < last) ++wrong;
        last = pair->first;
      }
    });
  }
  for (int i = 1; i <= 2000; ++i) published.Set(std::make_shared<const Pair>(i));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
  CHECK(published.Get()->first == 2000);
}

}  // namespace
}  // namespace sightline
