#include "tests/support/fake_backends.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/bundle/layout.h"
#include "common/bundle/tag_filter.h"
#include "common/models/precision/wished.h"

namespace sightline {
namespace {

float InnerProduct(absl::Span<const float> a, absl::Span<const float> b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A copy that shares nothing with `status`.  Statuses count references inside the
// uninstrumented library, where the thread sanitizer cannot follow.
absl::Status DeepCopy(const absl::Status& status) {
  absl::Status copy(status.code(), status.message());
  status.ForEachPayload([&copy](absl::string_view type, const absl::Cord& payload) {
    copy.SetPayload(type, absl::Cord(std::string(payload)));
  });
  return copy;
}

// What a fake answers: `response`, unless it or the test has an error to give.
template <typename T>
std::function<void(absl::Status)> Answer(absl::Status refusal, T response, Done<T> done) {
  return [refusal = std::move(refusal), response = std::move(response),
          done = std::move(done)](absl::Status status) {
    if (status.ok()) status = DeepCopy(refusal);
    if (status.ok()) {
      done(response);
    } else {
      done(std::move(status));
    }
  };
}

}  // namespace

void FakeBehaviour::Follow(std::function<FakeAnswer(int call)> rule) {
  MutexLock lock(mutex_);
  rule_ = std::move(rule);
}

void FakeBehaviour::BeforeEach(std::function<void()> hook) {
  MutexLock lock(mutex_);
  hook_ = std::move(hook);
}

void FakeBehaviour::Release() {
  std::vector<std::function<void()>> held;
  {
    MutexLock lock(mutex_);
    held.swap(held_);
  }
  for (const auto& answer : held) answer();
}

void FakeBehaviour::ReleaseOne() {
  std::function<void()> oldest;
  {
    MutexLock lock(mutex_);
    if (held_.empty()) return;
    oldest = std::move(held_.front());
    held_.erase(held_.begin());
  }
  oldest();
}

int FakeBehaviour::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

int FakeBehaviour::held() const {
  MutexLock lock(mutex_);
  return static_cast<int>(held_.size());
}

int FakeBehaviour::cancelled() const {
  return cancelled_->load();
}

void FakeBehaviour::AwaitCalls(int count) {
  MutexLock lock(mutex_);
  while (met_ < count) called_.Wait(mutex_);
}

void FakeBehaviour::Meet(const CallContext& call, std::function<void(absl::Status)> answer) {
  std::function<FakeAnswer(int)> rule;
  std::function<void()> hook;
  int number = 0;
  {
    MutexLock lock(mutex_);
    number = calls_++;
    rule = rule_;
    hook = hook_;
  }
  const FakeAnswer how = rule ? rule(number) : FakeAnswer{};
  if (hook) hook();
  if (how.when == FakeAnswer::When::kHeld) {
    MutexLock lock(mutex_);
    held_.push_back(
        [answer = std::move(answer), status = how.status] { answer(DeepCopy(status)); });
  } else if (how.when == FakeAnswer::When::kOnCancel) {
    // Holds its own registration, so it stays as long as the call does.
    const auto own = std::make_shared<Cancellation::Registration>();
    *own = call.cancellation()->OnCancel([own, answer = std::move(answer), cancelled = cancelled_] {
      cancelled->fetch_add(1);
      answer(absl::CancelledError("the caller has gone"));
    });
  } else {
    answer(DeepCopy(how.status));
  }
  MutexLock lock(mutex_);
  ++met_;
  called_.NotifyAll();
}

void FakeEncoder::EncodeQueries(const CallContext& call, EncodeRequest request,
                                Done<EncodeResponse> done) {
  {
    MutexLock lock(mutex_);
    last_request_ = request;
  }
  EncodeResponse response;
  for (size_t i = 0; i < request.queries.size(); ++i) {
    const std::vector<float> embedding = encode_(request.queries[i]);
    if (i == 0) {
      response.embeddings = EmbeddingMatrix(static_cast<int64_t>(request.queries.size()),
                                            static_cast<int>(embedding.size()));
    }
    std::copy(embedding.begin(), embedding.end(), response.embeddings.mutable_row(i).begin());
    if (request.want_features && features_) {
      response.features.push_back(features_(request.queries[i]));
    }
  }
  response.precision = precision_;
  behaviour_->Meet(
      call, Answer(CheckPrecision(request.wish, precision_), std::move(response), std::move(done)));
}

EncodeRequest FakeEncoder::last_request() const {
  MutexLock lock(mutex_);
  return last_request_;
}

FakeShard::FakeShard(GenerationRef generation, int shard, std::vector<StoredItem> items)
    : generation_(std::move(generation)),
      shard_(shard),
      items_(std::make_shared<const std::vector<StoredItem>>(std::move(items))) {}

absl::Status FakeShard::CheckTarget(const GenerationRef& target) const {
  if (target.index == generation_.index && target.generation == generation_.generation &&
      target.space == generation_.space) {
    return absl::OkStatus();
  }
  return MakeError(reasons::kGenerationNotHeld,
                   absl::StrCat("generation '", target.generation, "' of index '", target.index,
                                "' is not held by this server"));
}

void FakeShard::SearchShard(const CallContext& call, SearchShardRequest request,
                            Done<SearchShardResponse> done) {
  absl::Status refusal = CheckTarget(request.target);
  {
    MutexLock lock(mutex_);
    searches_.push_back(request);
  }
  SearchShardResponse response;
  response.matched_count = std::count_if(
      items_->begin(), items_->end(),
      [&request](const StoredItem& item) { return Passes(request.filter, item.tags); });
  if (how_.effort) response.effort = how_.effort(request);
  for (int64_t query = 0; query < request.queries.rows() && refusal.ok(); ++query) {
    std::vector<Candidate> all;
    for (const StoredItem& item : *items_) {
      if (item.embedding.size() != static_cast<size_t>(request.queries.dimension())) {
        refusal = absl::InvalidArgumentError("the query has another dimension");
        break;
      }
      if (!Passes(request.filter, item.tags)) continue;
      if (how_.sees && !how_.sees(item, request)) continue;
      all.push_back({item.item_id, shard_, item.row,
                     InnerProduct(request.queries.row(query), item.embedding)});
    }
    std::sort(all.begin(), all.end(), RanksBefore);
    if (all.size() > static_cast<size_t>(request.top_k)) all.resize(request.top_k);
    if (request.want_items && answers_items_) {
      std::vector<StoredItem>& items = response.items.emplace_back();
      for (const Candidate& candidate : all) {
        items.push_back(items_->at(static_cast<size_t>(candidate.row)));
        items.back().embedding.clear();
      }
    }
    response.candidates.push_back(std::move(all));
  }
  search_->Meet(call, Answer(refusal, std::move(response), std::move(done)));
}

std::vector<SearchShardRequest> FakeShard::searches() const {
  MutexLock lock(mutex_);
  return searches_;
}

void FakeShard::FetchItems(const CallContext& call, FetchItemsRequest request,
                           Done<FetchItemsResponse> done) {
  const absl::Status refusal = CheckTarget(request.target);
  FetchItemsResponse response;
  const auto add = [&](const StoredItem* item) {
    response.items.emplace_back();
    if (item == nullptr) return;
    response.items.back() = *item;
    if (!request.want_embeddings) response.items.back()->embedding.clear();
  };
  for (const std::string& item_id : request.item_ids) {
    const auto found = std::find_if(items_->begin(), items_->end(), [&](const StoredItem& item) {
      return item.item_id == item_id;
    });
    add(found == items_->end() ? nullptr : &*found);
  }
  for (const int64_t row : request.rows) {
    const bool there = row >= 0 && row < static_cast<int64_t>(items_->size());
    add(there ? &(*items_)[row] : nullptr);
  }
  fetch_->Meet(call, Answer(refusal, std::move(response), std::move(done)));
}

FakeIndex::FakeIndex(GenerationInfo info, std::vector<StoredItem> items) {
  info.item_count = static_cast<int64_t>(items.size());
  std::sort(items.begin(), items.end(),
            [](const StoredItem& a, const StoredItem& b) { return a.item_id < b.item_id; });
  std::vector<std::vector<StoredItem>> by_shard(info.shard_count);
  for (StoredItem& item : items) {
    item.shard = ShardOf(item.item_id, info.shard_count);
    item.row = static_cast<int64_t>(by_shard[item.shard].size());
    by_shard[item.shard].push_back(std::move(item));
  }
  for (int shard = 0; shard < info.shard_count; ++shard) {
    shards_.push_back(std::make_shared<FakeShard>(info.ref, shard, std::move(by_shard[shard])));
  }
  info_ = std::make_shared<const GenerationInfo>(std::move(info));
}

std::vector<StoredItem> FakeIndex::items() const {
  std::vector<StoredItem> all;
  for (const auto& shard : shards_) {
    all.insert(all.end(), shard->items().begin(), shard->items().end());
  }
  return all;
}

std::vector<std::shared_ptr<IndexSearchClient>> FakeIndex::clients() const {
  return {shards_.begin(), shards_.end()};
}

void FakeReranker::RerankCandidates(const CallContext& call, RerankRequest request,
                                    Done<RerankResponse> done) {
  RerankResponse response;
  response.score_kind = kind_;
  response.precision = precision_;
  const absl::Status refusal = CheckPrecision(request.wish, precision_);
  for (const RerankSide& candidate : request.candidates) {
    response.scores.push_back(score_(request.query, candidate));
  }
  {
    MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
  }
  behaviour_->Meet(call, Answer(refusal, std::move(response), std::move(done)));
}

std::vector<RerankRequest> FakeReranker::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

void FakeCatalog::Configure(absl::string_view index) {
  auto info = std::make_shared<GenerationInfo>();
  info->ref.index = std::string(index);
  Set(std::move(info));
}

void FakeCatalog::Set(std::shared_ptr<const GenerationInfo> info) {
  MutexLock lock(mutex_);
  held_[{info->ref.index, info->ref.generation}] = info;
  known_[info->ref.index] = std::move(info);
}

void FakeCatalog::Forget(const GenerationRef& generation) {
  MutexLock lock(mutex_);
  held_.erase({generation.index, generation.generation});
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> FakeCatalog::PinGeneration(
    absl::string_view index, absl::string_view generation) const {
  MutexLock lock(mutex_);
  const auto found = held_.find({std::string(index), std::string(generation)});
  if (found != held_.end()) return found->second;
  return absl::FailedPreconditionError(absl::StrCat("generation '", generation, "' is gone"));
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> FakeCatalog::Pin(
    absl::string_view index) const {
  MutexLock lock(mutex_);
  const auto found = known_.find(std::string(index));
  if (found == known_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no index '", index, "'"));
  }
  if (found->second->ref.generation.empty()) {
    return absl::UnavailableError(absl::StrCat("no backend has reported index '", index, "' yet"));
  }
  return found->second;
}

std::vector<std::shared_ptr<const GenerationInfo>> FakeCatalog::Known() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const GenerationInfo>> known;
  for (const auto& [name, info] : known_) known.push_back(info);
  return known;
}

}  // namespace sightline
