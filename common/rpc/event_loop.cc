#include "common/rpc/event_loop.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "common/base/error_details.h"

namespace sightline {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

// A loop that has had something to do at every moment of this time is behind.
constexpr microseconds kPatience(500);
// After how long it is looked whether there is a moment without; who waits for as long has had one.
constexpr microseconds kLook(250);

// Threads that help at a time: most of them wait, and then more are no help.
constexpr int kMostHelpers = 64;
// Those who stay too long are looked for no more often than this.
constexpr std::chrono::milliseconds kBetweenEvictions(100);
// After this, what waits for an idle moment is done without one.
constexpr std::chrono::milliseconds kMostWaitForIdle(250);

thread_local EventLoop* current = nullptr;

// Those of servers that have started and not stopped.
struct Registry {
  Mutex mutex;
  std::vector<EventLoop*> loops GUARDED_BY(mutex);
};

Registry& OfProcess() {
  static Registry* const registry = new Registry;
  return *registry;
}

gpr_timespec TimespecOf(Fiber::TimePoint due) {
  if (due == Fiber::TimePoint::max()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const auto left = duration_cast<nanoseconds>(due - std::chrono::steady_clock::now()).count();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(std::max<int64_t>(left, 0), GPR_TIMESPAN));
}

}  // namespace

LoopMetrics LoopMetrics::Make(MetricsRegistry* metrics) {
  const auto handlers = [metrics](const char* place) {
    return metrics->AddCounter("rpc_handlers_total", "Handlers that were begun, by where.",
                               {{"place", place}});
  };
  return {handlers("fiber"), handlers("thread"), handlers("thread_behind")};
}

EventLoop::EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, int most,
                     const LoopMetrics& metrics)
    : queue_(std::move(queue)), most_(most), metrics_(metrics), threads_(most) {}

EventLoop::~EventLoop() {
  Stop();
}

void EventLoop::Start() {
  thread_ = std::thread([this] { Serve(); });
  Registry& registry = OfProcess();
  MutexLock lock(registry.mutex);
  registry.loops.push_back(this);
}

void EventLoop::Stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  Close();
  AwaitNone(&callers_);
  AwaitNone(&lent_);
  queue_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
    return;
  }
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

bool EventLoop::TakePlace(Occupant* occupant, absl::Duration stay) {
  const SteadyClock::time_point now = SteadyClock::now();
  if (static_cast<int>(occupants_.size()) < most_) {
    occupant->until_ = now + absl::ToChronoNanoseconds(stay);
    occupant->place_ = occupants_.insert(occupants_.end(), occupant);
    return true;
  }
  if (now - evicted_at_ < kBetweenEvictions) return false;
  evicted_at_ = now;
  for (Occupant* const other : occupants_) {
    if (other->until_ < now) other->Evict();
  }
  return false;
}

void EventLoop::LeavePlace(Occupant* occupant) {
  occupants_.erase(occupant->place_);
  if (occupant->is_helped_) --helpers_;
}

bool EventLoop::TakeHelp(Occupant* occupant) {
  if (helpers_ >= kMostHelpers || SteadyClock::now() - idle_at_ <= kPatience) return false;
  ++helpers_;
  occupant->is_helped_ = true;
  return true;
}

EventLoop* EventLoop::Current() {
  return current;
}

bool EventLoop::RunInFiber(std::function<void()> work) {
  return fibers_->Start(std::move(work));
}

void EventLoop::RunWhenIdle(const std::function<void()>& work) {
  MutexLock lock(mutex_);
  idle_work_.store(&work);
  Wake();
  while (idle_work_.load() != nullptr) idle_work_done_.Wait(mutex_);
}

void EventLoop::RunIdleWork(bool is_idle) {
  const SteadyClock::time_point now = SteadyClock::now();
  if (idle_work_since_ == SteadyClock::time_point()) idle_work_since_ = now;
  if (!is_idle && now - idle_work_since_ < kMostWaitForIdle) return;
  (*idle_work_.load())();
  idle_work_since_ = SteadyClock::time_point();
  MutexLock lock(mutex_);
  idle_work_.store(nullptr);
  idle_work_done_.NotifyAll();
}

void EventLoop::Close() {
  Registry& registry = OfProcess();
  MutexLock lock(registry.mutex);
  auto& loops = registry.loops;
  loops.erase(std::remove(loops.begin(), loops.end(), this), loops.end());
}

void EventLoop::CountCallers(int change) {
  Count(&callers_, change);
}

void EventLoop::AwaitLastCaller() {
  AwaitNone(&callers_);
}

// In its own thread there is a caller or a fiber for whom it stays.
EventLoop* EventLoop::Lend() {
  if (current != nullptr) {
    current->Count(&current->lent_, 1);
    return current;
  }
  Registry& registry = OfProcess();
  MutexLock lock(registry.mutex);
  // Of several none would outlive the others' calls.
  if (registry.loops.size() != 1) return nullptr;
  EventLoop* const only = registry.loops.front();
  only->Count(&only->lent_, 1);
  return only;
}

void EventLoop::GiveBack() {
  Count(&lent_, -1);
}

void EventLoop::Count(int* what, int change) {
  MutexLock lock(mutex_);
  *what += change;
  if (*what == 0) none_left_.NotifyAll();
}

void EventLoop::AwaitNone(const int* what) {
  MutexLock lock(mutex_);
  while (*what > 0) none_left_.Wait(mutex_);
}

void EventLoop::Alarm::Happened(bool /*ok*/) {
  is_set.store(false);
}

void EventLoop::Wake() {
  if (alarm_.is_set.exchange(true)) return;
  alarm_.alarm.Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), TagOf(&alarm_));
}

void EventLoop::Serve() {
  FiberScheduler fibers([this] { Wake(); });
  fibers_ = &fibers;
  current = this;
  idle_at_ = SteadyClock::now();
  while (ServeNext()) fibers.RunReady();
  current = nullptr;
}

bool EventLoop::ServeNext() {
  using Status = grpc::CompletionQueue::NextStatus;
  void* tag = nullptr;
  bool ok = false;
  const SteadyClock::time_point begun = SteadyClock::now();
  Status status = Status::TIMEOUT;
  const bool has_idle_work = idle_work_.load() != nullptr;
  if (has_idle_work || begun - idle_at_ > kLook) {
    status = queue_->AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_MONOTONIC));
    if (status == Status::TIMEOUT) idle_at_ = begun;
    if (has_idle_work) RunIdleWork(/*is_idle=*/status == Status::TIMEOUT);
  }
  if (status == Status::TIMEOUT) {
    status = queue_->AsyncNext(&tag, &ok, TimespecOf(fibers_->next_due()));
    const SteadyClock::time_point ended = SteadyClock::now();
    if (ended - begun > kLook) idle_at_ = ended;
  }
  if (status == Status::GOT_EVENT) static_cast<QueueEvent*>(tag)->Happened(ok);
  return status != Status::SHUTDOWN;
}

absl::Status AllPlacesTaken() {
  return MakeError(reasons::kServerBusy,
                   "the server has as many calls as it takes, or no thread for another; try again "
                   "later");
}

absl::Status AwaitInThread(const std::function<absl::Status()>& work) {
  EventLoop* const loop = Fiber::Current() == nullptr ? nullptr : EventLoop::Current();
  if (loop == nullptr) return work();
  struct Result {
    Mutex mutex;
    CondVar done;
    bool is_done GUARDED_BY(mutex) = false;
    absl::Status status GUARDED_BY(mutex);
    std::exception_ptr thrown GUARDED_BY(mutex);
  } result;
  const auto run = [&work, &result] {
    absl::Status status;
    std::exception_ptr thrown;
    try {
      status = work();
    } catch (...) {
      thrown = std::current_exception();
    }
    // With the lock, behind which the result may be gone.
    MutexLock lock(result.mutex);
    result.is_done = true;
    result.status = std::move(status);
    result.thrown = std::move(thrown);
    result.done.NotifyAll();
  };
  if (!loop->RunInThread(run)) return AllPlacesTaken();
  MutexLock lock(result.mutex);
  while (!result.is_done) result.done.Wait(result.mutex);
  if (result.thrown != nullptr) std::rethrow_exception(result.thrown);
  return result.status;
}

}  // namespace sightline
