#include "common/generations/janitor.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Heavy {
  explicit Heavy(std::atomic<int>* freed, std::thread::id* where = nullptr)
      : freed(freed), where(where) {}
  ~Heavy() {
    if (where != nullptr) *where = std::this_thread::get_id();
    ++*freed;
  }
  std::atomic<int>* freed;
  std::thread::id* where;
};

TEST_CASE("what the last holder lets go is freed by the janitor") {
  std::atomic<int> freed{0};
  std::thread::id where;
  Janitor janitor;
  auto object =
      janitor.Adopt(std::shared_ptr<const Heavy>(std::make_shared<Heavy>(&freed, &where)));
  auto other = object;
  object.reset();
  janitor.Flush();
  CHECK(freed == 0);
  other.reset();
  janitor.Flush();
  CHECK(freed == 1);
  CHECK(where != std::this_thread::get_id());
}

TEST_CASE("what lies inside of what is freed is freed before Flush returns") {
  std::atomic<int> freed{0};
  Janitor janitor;
  struct Outer {
    std::shared_ptr<const Heavy> inner;
  };
  auto outer = std::make_shared<Outer>();
  outer->inner = janitor.Adopt(std::shared_ptr<const Heavy>(std::make_shared<Heavy>(&freed)));
  auto adopted = janitor.Adopt(std::shared_ptr<const Outer>(std::move(outer)));
  adopted.reset();
  janitor.Flush();
  CHECK(freed == 1);
}

TEST_CASE("objects may outlive the janitor") {
  std::atomic<int> freed{0};
  std::shared_ptr<const Heavy> survivor;
  {
    Janitor janitor;
    survivor = janitor.Adopt(std::shared_ptr<const Heavy>(std::make_shared<Heavy>(&freed)));
    auto gone = janitor.Adopt(std::shared_ptr<const Heavy>(std::make_shared<Heavy>(&freed)));
  }
  CHECK(freed == 1);
  survivor.reset();
  CHECK(freed == 2);
}

TEST_CASE("many threads let go at once") {
  std::atomic<int> freed{0};
  Janitor janitor;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        janitor.Adopt(std::shared_ptr<const Heavy>(std::make_shared<Heavy>(&freed)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  janitor.Flush();
  CHECK(freed == 800);
}

}  // namespace
}  // namespace sightline
