// The thread in which a server reads, answers and hears of what it has asked of others.
//
//   EventLoop loop(builder.AddCompletionQueue(), threads, metrics);
//   ... what happened in loop.queue() is told to its QueueEvent, in the loop's thread ...
//   // There, for who waits: others go on meanwhile (fiber.h).
//   if (!loop.RunInFiber([&] { Answer(); })) ...
//   // For who computes for long, or reads a disk.
//   if (!loop.RunInThread([&] { Answer(); })) ...
//
// One thread that reads a call, works and writes wakes nobody on the way.  gRPC's synchronous
// server wakes a thread to read on before it begins with what it has read, and where a handler
// waits for an answer, the thread that reads that has to wake the handler's.  It has to be one
// thread: gRPC has one set of connections for the process, of which any thread that waits in any
// queue may read, for another one, that it then wakes.  So calls to other servers end here, too
// (Lend), and in a process that serves no other thread waits for gRPC's connections.
#ifndef SIGHTLINE_COMMON_RPC_EVENT_LOOP_H_
#define SIGHTLINE_COMMON_RPC_EVENT_LOOP_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/fiber.h"
#include "common/base/mutex.h"
#include "common/metrics/metrics.h"
#include "common/rpc/handler_threads.h"

namespace sightline {

// gRPC's tag for what is waited for in a queue.
class QueueEvent {
 public:
  virtual ~QueueEvent() = default;
  // In a thread that serves the queue, which it must not hold up.
  virtual void Happened(bool ok) = 0;
};

// The same, as a function.
struct QueueCallback final : QueueEvent {
  void Happened(bool ok) override { happened(ok); }
  std::function<void(bool ok)> happened;
};

// `event` as a queue takes it, and gives it back: by the address of this part of it.
inline void* TagOf(QueueEvent* event) {
  return event;
}

// What the metrics page shows of handlers.  One made by default counts nothing.
struct LoopMetrics {
  // rpc_handlers_total: those that were begun in a fiber, in a thread, where they belong, and in a
  // thread since the loop was behind.
  Counter in_fiber, in_thread, behind;

  static LoopMetrics Make(MetricsRegistry* metrics);
};

// Thread-safe, but where it says otherwise.
class EventLoop {
 public:
  using SteadyClock = std::chrono::steady_clock;

  // A call that has come and is not answered, or whose caller has not taken the answer.
  class Occupant {
   public:
    virtual ~Occupant() = default;

   private:
    friend class EventLoop;
    // Ends the call, whatever its caller does.
    virtual void Evict() = 0;

    std::list<Occupant*>::iterator place_;
    SteadyClock::time_point until_;
    bool is_helped_ = false;
  };

  // `most`: calls that have a place at a time, and threads for them.
  EventLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, int most,
            const LoopMetrics& metrics);
  // Stops.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The one whose thread this is, in a fiber of it or not; null in other threads.
  static EventLoop* Current();

  // Once the server has started: what happens before is nobody's yet.
  void Start();
  // Once the server has stopped, or has not started: waits until whatever was lent the queue has
  // given it back, and ends the thread.
  void Stop();

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

  // Both in the loop's thread.  False: all places are taken; those who have had theirs for longer
  // than they wanted at first, `stay`, then have to go, since they do not take their answers.
  [[nodiscard]] bool TakePlace(Occupant* occupant, absl::Duration stay);
  void LeavePlace(Occupant* occupant);

  // Runs `work`, which must not throw, in a fiber, until that waits or ends.  In the loop's thread,
  // and not in a fiber.  False: there is no memory for its stack, and it is not run.
  [[nodiscard]] bool RunInFiber(std::function<void()> work);
  // Whether `occupant` is to be served in a thread, which helps until he leaves: there has been
  // more to do than the loop's thread does, for a while, and not many help.  In the loop's thread.
  bool TakeHelp(Occupant* occupant);

  // Runs `work`, which must not throw, in another thread, which may block.  False: all are busy,
  // and it is not run.
  [[nodiscard]] bool RunInThread(std::function<void()> work) {
    return threads_.Run(std::move(work));
  }
  // For whoever begins handlers.
  const LoopMetrics& metrics() const { return metrics_; }

  // Runs `work` in the loop's thread, when that has nothing else to do, or after a while, and waits
  // for it.  In another thread.
  void RunWhenIdle(const std::function<void()>& work);
  // Lends nobody anything any more.
  void Close();
  // Counts callers: those that are there or waited for.
  void CountCallers(int change);
  // Once the server has stopped, which ends its calls: waits for the last of them.
  void AwaitLastCaller();

  // A loop in whose queue a call to another server may end: that of this thread, or else of the
  // process, if one server runs in it; else null.  It stays until it is given back.
  static EventLoop* Lend();
  void GiveBack();

 private:
  // Wakes the thread for fibers that are ready.
  struct Alarm final : QueueEvent {
    void Happened(bool ok) override;
    std::atomic<bool> is_set{false};
    grpc::Alarm alarm;
  };

  void Serve();
  // False once the queue has ended.
  bool ServeNext();
  void RunIdleWork(bool is_idle);
  void Wake();
  void Count(int* what, int change);
  void AwaitNone(const int* what);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const int most_;
  const LoopMetrics metrics_;
  HandlerThreads threads_;
  Alarm alarm_;
  // These are for the loop's thread alone.
  FiberScheduler* fibers_ = nullptr;  // of Serve
  std::list<Occupant*> occupants_;
  int helpers_ = 0;
  SteadyClock::time_point evicted_at_, idle_at_;  // last
  SteadyClock::time_point idle_work_since_;       // not run yet; zero: there was none

  std::atomic<const std::function<void()>*> idle_work_{nullptr};
  Mutex mutex_;
  CondVar none_left_;
  CondVar idle_work_done_;
  int callers_ = 0;  // these two under mutex_
  int lent_ = 0;
  std::thread thread_;
  bool is_stopped_ = false;
};

// That all places of a server are taken, or its threads: ResourceExhausted (SERVER_BUSY).
absl::Status AllPlacesTaken();

// Runs `work` in a thread of the loop's, where this is a fiber of one, and waits for it; elsewhere
// runs it here.  What it throws is thrown here.  AllPlacesTaken, without running it, if there is no
// thread.
absl::Status AwaitInThread(const std::function<absl::Status()>& work);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_EVENT_LOOP_H_
