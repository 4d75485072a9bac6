// A world whose rerankers and encoders compute in two precisions, so differently that every score
// tells in which.
#ifndef SIGHTLINE_TESTS_COMMON_RETRIEVAL_TWO_PRECISIONS_H_
#define SIGHTLINE_TESTS_COMMON_RETRIEVAL_TWO_PRECISIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/replicas/replicas.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/replicate.h"

namespace sightline {

inline constexpr char kExact[] = "float32";
inline constexpr char kQuick[] = "int8";

// Replicas 0 and 1 compute in kExact, 2 and 3 in kQuick, with half the score.
class TwoPrecisions {
 public:
  static constexpr int kReplicas = 4;

  // `wrap` may put something of the test around each reranker.
  using Wrap = std::function<std::shared_ptr<RerankerClient>(std::shared_ptr<FakeReranker>)>;
  explicit TwoPrecisions(const WorldOptions& options = {}, ReplicaOptions replicas = {},
                         const Wrap& wrap = nullptr)
      : world(options) {
    std::vector<std::shared_ptr<RerankerClient>> scoring;
    std::vector<std::shared_ptr<QueryEncoderClient>> encoding;
    for (int i = 0; i < kReplicas; ++i) {
      const float factor = PrecisionOf(i) == kExact ? 1.0f : 0.5f;
      rerankers.push_back(std::make_shared<FakeReranker>(
          [this, factor](const RerankSide& query, const RerankSide& candidate) {
            std::string text = world.NameOf(query), image = world.NameOf(candidate);
            if (text.rfind("image", 0) == 0) std::swap(text, image);
            return factor * MatchOf(text, image);
          }));
      rerankers.back()->ComputeIn(PrecisionOf(i));
      scoring.push_back(wrap == nullptr ? rerankers.back() : wrap(rerankers.back()));
      encoders.push_back(std::make_shared<FakeEncoder>(
          [](const EncodableQuery& query) {
            const auto* text = std::get_if<TextQuery>(&query);
            return EmbeddingOf(text != nullptr ? text->text : "an image");
          },
          [](const EncodableQuery& query) {
            const auto* text = std::get_if<TextQuery>(&query);
            FeatureTensor name;
            name.name = "name";
            name.bytes = text != nullptr ? text->text : "image";
            return ItemFeatures{{name}};
          }));
      encoders.back()->ComputeIn(PrecisionOf(i));
      encoding.push_back(encoders.back());
    }
    replicas.precision_changed = [this](const std::string& address) {
      MutexLock lock(mutex_);
      changed_.push_back(address);
    };
    reranker = Replicate(ReplicatedReranker, std::move(scoring), replicas);
    encoder = Replicate(ReplicatedEncoder, std::move(encoding), replicas);
    world.backends.reranker = reranker;
    world.backends.encoder = encoder;
    Hold({0, 1, 2, 3});
  }

  static std::string PrecisionOf(int replica) { return replica < 2 ? kExact : kQuick; }

  // Who holds both generations; who is silent is asked only if nobody else may be.
  void Hold(const std::vector<int>& fit, const std::vector<int>& silent = {}) {
    reranker->SetRoster(RosterWith(fit, silent));
    encoder->SetRoster(RosterWith(fit, silent));
  }
  // Other words of them than they keep.
  void Tell(const std::vector<int>& fit, const std::vector<std::string>& precisions) {
    Roster roster = RosterWith(fit, {});
    roster.precisions.clear();
    for (const std::string& precision : precisions) roster.precisions.push_back(Models(precision));
    reranker->SetRoster(std::move(roster));
  }

  // Those of whom calls have found out that they compute otherwise than was told.
  std::vector<std::string> changed() const {
    MutexLock lock(mutex_);
    return changed_;
  }

  // Computed in one, which the answer names.
  bool IsOfOne(const SearchResult& result, const std::string& query) const {
    const float factor = result.reranker_precision == kExact ? 1.0f : 0.5f;
    for (const Hit& hit : result.hits) {
      if (hit.stage != HitStage::kReranked) continue;
      if (*hit.rerank_score != factor * MatchOf(query, hit.item_id)) return false;
    }
    return true;
  }

  World world;
  std::vector<std::shared_ptr<FakeReranker>> rerankers;
  std::vector<std::shared_ptr<FakeEncoder>> encoders;
  std::shared_ptr<ReplicaClient<RerankerClient>> reranker;
  std::shared_ptr<ReplicaClient<QueryEncoderClient>> encoder;

 private:
  mutable Mutex mutex_;
  std::vector<std::string> changed_ GUARDED_BY(mutex_);

  static std::map<std::string, std::string> Models(const std::string& precision) {
    return {{"encoder-1", precision}, {kCrossEncoder, precision}, {"cross-encoder-2", precision}};
  }
  Roster RosterWith(const std::vector<int>& fit, const std::vector<int>& silent) const {
    std::vector<std::string> addresses;
    for (int i = 0; i < kReplicas; ++i) addresses.push_back(std::to_string(i));
    Roster roster = RosterOf(addresses, world.pictures.info()->ref, fit, silent);
    roster.holders.push_back({world.words.info()->ref, fit, silent});
    for (int i = 0; i < kReplicas; ++i) roster.precisions.push_back(Models(PrecisionOf(i)));
    return roster;
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_RETRIEVAL_TWO_PRECISIONS_H_
