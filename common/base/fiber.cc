#include "common/base/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <exception>
#include <utility>

// What gcc says of a sanitizer, clang is asked for.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sightline {
namespace {

// Stacks that are kept for fibers to come: as many as wait together most of the time.
constexpr size_t kMostIdle = 64;

thread_local Fiber* current = nullptr;

// Below a stack, memory that nobody may touch: a stack that grows too large ends the process rather
// than write into something else.  Wider than the frame of any function of ours.
constexpr size_t kGuardBytes = size_t{64} << 10;

class StackMemory {
 public:
  explicit StackMemory(size_t bytes) : bytes_(bytes + kGuardBytes) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    // A guard parts the mapping in two, of which the system has so many.
    if (ok() && ::mprotect(memory_, kGuardBytes, PROT_NONE) != 0) {
      ::munmap(memory_, bytes_);
      memory_ = MAP_FAILED;
    }
  }
  ~StackMemory() {
    if (ok()) ::munmap(memory_, bytes_);
  }
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;

  bool ok() const { return memory_ != MAP_FAILED; }
  void* bottom() const { return static_cast<char*>(memory_) + kGuardBytes; }
  size_t size() const { return bytes_ - kGuardBytes; }

 private:
  const size_t bytes_;
  void* memory_;
};

}  // namespace

struct Fiber::Stack {
  StackMemory memory{FiberScheduler::kStackBytes};
  ucontext_t own;     // of the fiber, while it does not run
  ucontext_t thread;  // of the thread, while the fiber runs
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;  // of the fiber
  const void* thread_bottom = nullptr;
  size_t thread_size = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* const sanitized = __tsan_create_fiber(0);
  void* sanitized_thread = nullptr;
  ~Stack() {
    __tsan_destroy_fiber(sanitized);
  }
#endif
};

std::unique_ptr<Fiber> Fiber::Make(FiberScheduler* scheduler) {
  auto stack = std::make_unique<Stack>();
  if (!stack->memory.ok()) return nullptr;
  return std::unique_ptr<Fiber>(new Fiber(scheduler, std::move(stack)));
}

Fiber::Fiber(FiberScheduler* scheduler, std::unique_ptr<Stack> stack)
    : scheduler_(scheduler), stack_(std::move(stack)) {
  ::getcontext(&stack_->own);
  stack_->own.uc_stack.ss_sp = stack_->memory.bottom();
  stack_->own.uc_stack.ss_size = stack_->memory.size();
  stack_->own.uc_link = nullptr;
  ::makecontext(&stack_->own, &Fiber::Main, 0);
}

Fiber::~Fiber() = default;

Fiber* Fiber::Current() {
  return current;
}

// One body after the other.
void Fiber::Main() {
  Fiber* const self = current;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->stack_->thread_bottom,
                                  &self->stack_->thread_size);
#endif
  while (true) {
    try {
      self->body_();
    } catch (...) {
      std::terminate();
    }
    self->body_ = nullptr;
    self->Leave();
  }
}

void Fiber::Enter() {
  current = this;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_->memory.bottom(), stack_->memory.size());
#endif
#if defined(__SANITIZE_THREAD__)
  stack_->sanitized_thread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(stack_->sanitized, 0);
#endif
  ::swapcontext(&stack_->thread, &stack_->own);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  current = nullptr;
}

void Fiber::Leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&stack_->fake, stack_->thread_bottom, stack_->thread_size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(stack_->sanitized_thread, 0);
#endif
  ::swapcontext(&stack_->own, &stack_->thread);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(stack_->fake, &stack_->thread_bottom, &stack_->thread_size);
#endif
}

void Fiber::Suspend(TimePoint until) {
  if (until == TimePoint::max()) {
    Leave();
    return;
  }
  const auto due = scheduler_->due_.emplace(until, this);
  Leave();
  scheduler_->due_.erase(due);
}

void Fiber::Resume() {
  if (!ready_.exchange(true)) scheduler_->AddReady(this);
}

FiberScheduler::FiberScheduler(std::function<void()> wake) : wake_(std::move(wake)) {}

FiberScheduler::~FiberScheduler() {
  if (alive_ > 0) std::terminate();
}

void FiberScheduler::AddReady(Fiber* fiber) {
  bool is_first;
  {
    MutexLock lock(mutex_);
    is_first = ready_.empty();
    ready_.push_back(fiber);
  }
  if (is_first && std::this_thread::get_id() != thread_) wake_();
}

bool FiberScheduler::Start(std::function<void()> body) {
  std::unique_ptr<Fiber> fiber;
  if (idle_.empty()) {
    fiber = Fiber::Make(this);
    if (fiber == nullptr) return false;
  } else {
    fiber = std::move(idle_.back());
    idle_.pop_back();
  }
  fiber->body_ = std::move(body);
  ++alive_;
  GoOn(fiber.release());
  return true;
}

// What is ready is not ended: it is found there yet.
void FiberScheduler::GoOn(Fiber* fiber) {
  fiber->Enter();
  if (fiber->body_ != nullptr) return;
  --alive_;
  if (!fiber->ready_.load()) Keep(fiber);
}

void FiberScheduler::Keep(Fiber* fiber) {
  std::unique_ptr<Fiber> ended(fiber);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(ended));
}

void FiberScheduler::RunReady() {
  std::vector<Fiber*> ready;
  while (true) {
    for (auto due = due_.begin();
         due != due_.end() && due->first <= std::chrono::steady_clock::now(); ++due) {
      due->second->Resume();
    }
    {
      MutexLock lock(mutex_);
      ready.swap(ready_);
    }
    if (ready.empty()) return;
    for (Fiber* const fiber : ready) {
      fiber->ready_.store(false);
      if (fiber->body_ != nullptr) {
        GoOn(fiber);
      } else {
        Keep(fiber);
      }
    }
    ready.clear();
  }
}

Fiber::TimePoint FiberScheduler::next_due() const {
  return due_.empty() ? Fiber::TimePoint::max() : due_.begin()->first;
}

}  // namespace sightline
