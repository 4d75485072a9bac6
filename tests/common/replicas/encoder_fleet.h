// Some encoders, of which each answers with its own number, behind one client.
#ifndef SIGHTLINE_TESTS_COMMON_REPLICAS_ENCODER_FLEET_H_
#define SIGHTLINE_TESTS_COMMON_REPLICAS_ENCODER_FLEET_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/replicas/replicas.h"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_clock.h"
#include "tests/support/replicate.h"

namespace sightline {

// One call's answer, when it comes.  Thread-safe.
class EncoderAnswer {
 public:
  Done<EncodeResponse> done() {
    return [this](absl::StatusOr<EncodeResponse> response) {
      MutexLock lock(mutex_);
      ++count_;
      if (response.ok()) {
        replica_ = static_cast<int>(response->embeddings.row(0)[0]);
      } else {
        status_ = absl::Status(response.status().code(), response.status().message());
      }
      changed_.NotifyAll();
    };
  }

  bool there() const { return count() > 0; }
  int count() const {
    MutexLock lock(mutex_);
    return count_;
  }
  // The number of the replica that answered.  Blocks until one has.
  absl::StatusOr<int> Get() {
    MutexLock lock(mutex_);
    while (count_ == 0) changed_.Wait(mutex_);
    if (!status_.ok()) return status_;
    return replica_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  int count_ GUARDED_BY(mutex_) = 0;
  int replica_ GUARDED_BY(mutex_) = -1;
  absl::Status status_ GUARDED_BY(mutex_);
};

struct EncoderFleet {
  // With a timer on the fake clock, unless `timed` is false.
  explicit EncoderFleet(int count, ReplicaOptions options = {}, bool timed = true) {
    if (timed) options.timer = std::make_shared<TimerThread>(&clock);
    std::vector<std::shared_ptr<QueryEncoderClient>> replicas;
    for (int i = 0; i < count; ++i) {
      fakes.push_back(std::make_shared<FakeEncoder>(
          [i](const EncodableQuery&) { return std::vector<float>{static_cast<float>(i)}; }));
      replicas.push_back(fakes.back());
    }
    client = Replicate(ReplicatedEncoder, std::move(replicas), options);
  }

  // What is known of who holds the generation that is asked about.
  void Hold(const std::vector<int>& fit, const std::vector<int>& last_resort = {}) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < fakes.size(); ++i) addresses.push_back(std::to_string(i));
    client->SetRoster(RosterOf(std::move(addresses), asked, fit, last_resort));
  }
  // Replica 0 is asked first as long as it is in good health.
  void ZeroFirst() {
    std::vector<int> others;
    for (int i = 1; i < static_cast<int>(fakes.size()); ++i) others.push_back(i);
    Hold({0}, others);
  }

  CallContext Call() { return CallContext(&clock, clock.Now() + absl::Seconds(1)); }
  void Start(const CallContext& call, EncoderAnswer* answer) {
    EncodeRequest request;
    request.target = asked;
    request.queries = {TextQuery{"a red fish"}};
    client->EncodeQueries(call, std::move(request), answer->done());
  }
  // For calls that are answered at once.
  absl::StatusOr<int> Ask() {
    EncoderAnswer answer;
    Start(Call(), &answer);
    return answer.Get();
  }
  FakeBehaviour& replica(int i) { return fakes[i]->behaviour(); }
  void Kill(int i) { replica(i).FailWith(absl::UnavailableError("connection refused")); }
  int calls() const {
    int sum = 0;
    for (const auto& fake : fakes) sum += fake->behaviour().calls();
    return sum;
  }

  const GenerationRef asked = {"pictures", "1", "space"};
  FakeClock clock;
  std::vector<std::shared_ptr<FakeEncoder>> fakes;
  std::shared_ptr<ReplicaClient<QueryEncoderClient>> client;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_REPLICAS_ENCODER_FLEET_H_
