#include "common/rpc/health_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/rpc/rpc_stream.h"

namespace sightline {
namespace {

// A name of a service is shorter; what a watch asks is not measured by the gate.
constexpr size_t kMaxQuestionBytes = 4096;

absl::Status ReadQuestion(const IncomingRequest& incoming,
                          grpc::health::v1::HealthCheckRequest* request) {
  if (incoming.bytes.Valid() && incoming.bytes.Length() > kMaxQuestionBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the question has ", incoming.bytes.Length(),
                                                   " bytes; at most ", kMaxQuestionBytes,
                                                   " are read"));
  }
  return ReadRequest(incoming, request);
}

absl::Status Gone() {
  return absl::CancelledError("the watcher has gone");
}

absl::Status TooManyWatches() {
  return absl::UnimplementedError(
      absl::StrCat("the server has ", HealthService::kMaxWatches,
                   " health watches open, as many as it takes; use Check, or try again later"));
}

}  // namespace

// One caller's watch: it is told the state of now and, of those that follow, the newest that it
// has not been told.
class HealthService::Watcher final : public RpcStream {
 public:
  explicit Watcher(HealthService* health) : health_(health) {}
  ~Watcher() override {
    if (is_open_) health_->NoteDeleted();
  }

 private:
  friend class HealthService;

  void OnOpen() override {
    is_open_ = true;
    health_->Open(this);
  }
  void OnRead(bool) override { health_->Begin(this, incoming()); }
  void OnWritten(bool ok) override { health_->NoteWritten(this, ok); }
  void OnGone() override { health_->NoteGone(this); }

  HealthService* const health_;
  bool is_open_ = false;
  // Of the health service, under its lock.
  std::string service_;
  State told_ = Response::UNKNOWN;  // which is never told
  bool is_busy_ = false;            // reading or writing
  bool is_gone_ = false;
  bool has_ended_ = false;
  absl::optional<Watchers::iterator> place_;  // once it has begun
};

HealthService::HealthService(CallGate* calls)
    : RpcService(grpc::health::v1::Health::service_full_name(), calls),
      calls_(calls),
      states_{{std::string(kLivenessEntry), Response::SERVING}} {
  AddUnary("Check", &HealthService::Check, CallGate::Admission::kAlways);
  AddStream("Watch", [this] { return std::make_unique<Watcher>(this); });
}

void HealthService::Set(const std::string& service, bool serving) {
  MutexLock lock(mutex_);
  states_[service] = serving ? Response::SERVING : Response::NOT_SERVING;
  for (Watcher* const watcher : watchers_) Tell(watcher);
}

HealthService::State HealthService::StateOf(const std::string& service) const {
  const auto found = states_.find(service);
  return found == states_.end() ? Response::SERVICE_UNKNOWN : found->second;
}

absl::Status HealthService::Check(Request request, const CallContext&, Response* response) {
  if (request.service() == kLivenessEntry && calls_->stuck()) {
    response->set_status(Response::NOT_SERVING);
    return absl::OkStatus();
  }
  MutexLock lock(mutex_);
  response->set_status(StateOf(request.service()));
  if (response->status() != Response::SERVICE_UNKNOWN) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("the server knows no service '", request.service(),
                                          "'; ask for \"\", the whole server"));
}

void HealthService::Open(Watcher* watcher) {
  MutexLock lock(mutex_);
  if (++open_watches_ > kMaxWatches) return End(watcher, TooManyWatches());
  watcher->is_busy_ = true;
  watcher->Read();
}

void HealthService::NoteDeleted() {
  MutexLock lock(mutex_);
  --open_watches_;
}

void HealthService::Begin(Watcher* watcher, const IncomingRequest& question) {
  Request request;
  const absl::Status refusal = ReadQuestion(question, &request);
  MutexLock lock(mutex_);
  watcher->is_busy_ = false;
  if (watcher->is_gone_) return End(watcher, Gone());
  if (!refusal.ok()) return End(watcher, refusal);
  watcher->service_ = std::move(*request.mutable_service());
  watcher->place_ = watchers_.insert(watchers_.end(), watcher);
  Tell(watcher);
}

// What the watcher has not been told; while that is on its way, it waits for its end.
void HealthService::Tell(Watcher* watcher) {
  const State now = StateOf(watcher->service_);
  if (watcher->is_busy_ || watcher->has_ended_ || now == watcher->told_) return;
  Response response;
  response.set_status(now);
  watcher->told_ = now;
  watcher->is_busy_ = true;
  watcher->Write(response);
}

void HealthService::NoteWritten(Watcher* watcher, bool ok) {
  MutexLock lock(mutex_);
  watcher->is_busy_ = false;
  ok && !watcher->is_gone_ ? Tell(watcher) : End(watcher, Gone());
}

void HealthService::NoteGone(Watcher* watcher) {
  MutexLock lock(mutex_);
  watcher->is_gone_ = true;
  if (!watcher->is_busy_) End(watcher, Gone());
}

void HealthService::End(Watcher* watcher, const absl::Status& why) {
  if (std::exchange(watcher->has_ended_, true)) return;
  if (watcher->place_.has_value()) watchers_.erase(*watcher->place_);
  watcher->Finish(why);
}

}  // namespace sightline
