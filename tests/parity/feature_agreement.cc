// feature_agreement STORE QUESTIONS CAPTIONS: what it does to the rankings of a store that its
// pictures' rows are kept in float16 or in int8.
//
// STORE was encoded with `feature_dtype: float32`.  Each question of the file QUESTIONS, and each
// of CAPTIONS captions of the store, evenly spread, is searched and reranked as a fleet would: with
// the rows as they are, and with the rows rounded.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/questions.h"
#include "common/models/inference.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/item_encoder.h"
#include "common/retrieval/rerank_block.h"

namespace sightline {
namespace {

constexpr int kDepth = 20;  // what a search reranks unless it says otherwise
constexpr size_t kShown = 10;
constexpr int64_t kMostQuestionBytes = 1 << 24;

// Of the texts so far, by one dtype against float32.
struct Tally {
  int64_t bytes = 0, pairs = 0, texts = 0;
  double most_off = 0, sum_off = 0;  // of raw scores
  // By the cross-encoder alone, and as the bundle declares.
  double alone_shared = 0, declared_shared = 0;  // of the first ten
  int64_t found = 0, found_first = 0;            // by the declared combination

  std::string Text() const {
    const auto count = static_cast<double>(texts);
    return absl::StrFormat(
        "%d bytes an item; raw scores off by %.2g at most, %.2g in the mean; top-10 overlap %.4f "
        "alone, %.4f as declared; Recall@1 %.4f, Recall@10 %.4f",
        bytes / pairs, most_off, sum_off / static_cast<double>(pairs), alone_shared / count,
        declared_shared / count, static_cast<double>(found_first) / count,
        static_cast<double>(found) / count);
  }
};

std::vector<std::string> FirstIds(const std::vector<Hit>& hits) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < std::min(kShown, hits.size()); ++i) ids.push_back(hits[i].item_id);
  return ids;
}

double SharedPart(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::set<std::string> known(a.begin(), a.end());
  const auto shared =
      std::count_if(b.begin(), b.end(), [&](const std::string& id) { return known.count(id) > 0; });
  return static_cast<double>(shared) / static_cast<double>(a.size());
}

// What one search gives.
struct Ranking {
  std::vector<float> raw;
  std::vector<std::string> alone, declared;
};

class FeatureAgreement {
 public:
  // `store` outlives it.
  explicit FeatureAgreement(const EvaluationStore* store) : store_(*store) {}

  absl::Status Add(const Question& question) {
    const Model& model = *reranker().model;
    ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, Search(question.query));
    ASSIGN_OR_RETURN(const std::vector<ItemFeatures> exact,
                     store_.images().Features(model.id(), candidates));
    ASSIGN_OR_RETURN(const ItemFeatures text, TextFeatures(model, question.query));
    Ranking referee;
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8}) {
      Tally& tally = tallies_[dtype];
      std::vector<ItemFeatures> stored;
      for (const ItemFeatures& item : exact) {
        ASSIGN_OR_RETURN(stored.emplace_back(), StoredAs(dtype, item));
        for (const FeatureTensor& tensor : stored.back().tensors) {
          tally.bytes += static_cast<int64_t>(tensor.bytes.size());
        }
      }
      ASSIGN_OR_RETURN(const Ranking ranking, Rank(candidates, text, stored));
      if (dtype == Dtype::kFloat32) referee = ranking;
      Count(referee, ranking, question, &tally);
    }
    return absl::OkStatus();
  }

  void Print() const {
    for (const auto& [dtype, tally] : tallies_) {
      std::cout << DtypeName(dtype) << ": " << tally.Text() << "\n";
    }
  }

 private:
  const EvaluationStore::Reranker& reranker() const {
    return store_.reranker(Direction::kTextToImage);
  }

  absl::StatusOr<std::vector<Candidate>> Search(const std::string& text) const {
    const CallContext call = CallContext::Unbounded();
    ASSIGN_OR_RETURN(const Tokens tokens, store_.encoder().Tokenize(text));
    ASSIGN_OR_RETURN(const EmbeddingMatrix query,
                     store_.encoder().text_encoder()->Encode({tokens}, call));
    ASSIGN_OR_RETURN(auto found, store_.images().Search(query, kDepth, call));
    return std::move(found[0]);
  }

  absl::StatusOr<Ranking> Rank(const std::vector<Candidate>& candidates, const ItemFeatures& text,
                               const std::vector<ItemFeatures>& items) const {
    const CrossEncoder& encoder = *reranker().model->cross_encoder();
    std::vector<ScoringPair> pairs;
    for (const ItemFeatures& item : items) pairs.push_back({&text, &item});
    Ranking ranking;
    ASSIGN_OR_RETURN(ranking.raw, encoder.Score(pairs, CallContext::Unbounded()));
    std::vector<absl::optional<RerankScore>> scores;
    for (const float raw : ranking.raw) {
      scores.emplace_back(ToRerankScore(encoder.score_kind(), raw));
    }
    ranking.alone = FirstIds(OrderHits(candidates, scores, Combination()));
    const auto& declared = reranker().declared;
    ranking.declared = FirstIds(OrderHits(
        candidates, scores, declared.has_value() ? declared->combination : Combination()));
    return ranking;
  }

  static void Count(const Ranking& referee, const Ranking& ranking, const Question& question,
                    Tally* tally) {
    for (size_t i = 0; i < ranking.raw.size(); ++i) {
      const double off = std::abs(static_cast<double>(ranking.raw[i]) - referee.raw[i]);
      tally->most_off = std::max(tally->most_off, off);
      tally->sum_off += off;
    }
    tally->pairs += static_cast<int64_t>(ranking.raw.size());
    tally->texts += 1;
    tally->alone_shared += SharedPart(referee.alone, ranking.alone);
    tally->declared_shared += SharedPart(referee.declared, ranking.declared);
    const std::set<std::string> right(question.expected.begin(), question.expected.end());
    tally->found_first += right.count(ranking.declared[0]) > 0;
    tally->found += std::any_of(ranking.declared.begin(), ranking.declared.end(),
                                [&](const std::string& id) { return right.count(id) > 0; });
  }

  const EvaluationStore& store_;
  std::map<Dtype, Tally> tallies_;
};

// `count` captions of the store, evenly spread, each of which looks for its own picture.
absl::StatusOr<std::vector<Question>> Captions(const EvaluationStore& store, int64_t count) {
  ASSIGN_OR_RETURN(const std::vector<ItemRecord> records, store.captions().Records());
  const auto all = static_cast<int64_t>(records.size());
  std::vector<Question> questions;
  for (int64_t i = 0; i < std::min(count, all); ++i) {
    const ItemRecord& record = records[i * all / std::min(count, all)];
    const std::vector<std::string> parts = absl::StrSplit(record.item_id, '#');
    questions.push_back({record.caption, {parts[0]}});
  }
  return questions;
}

absl::Status Run(const std::string& folder, const std::string& file, int64_t captions) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(2);
  EvaluationStoreOptions options;
  options.store = folder;
  ASSIGN_OR_RETURN(const auto store,
                   EvaluationStore::Open(options, &pool, CallContext::Unbounded()));
  if (store->images().manifest().feature_dtype() != "float32") {
    return absl::FailedPreconditionError(
        "the store's rows are rounded already; encode it with feature_dtype: float32");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMostQuestionBytes));
  ASSIGN_OR_RETURN(const std::vector<Question> asked, ParseQuestions(text));
  ASSIGN_OR_RETURN(const std::vector<Question> own, Captions(*store, captions));
  for (const auto& [name, questions] :
       {std::pair("questions", asked), std::pair("captions", own)}) {
    FeatureAgreement agreement(store.get());
    for (const Question& question : questions) RETURN_IF_ERROR(agreement.Add(question));
    if (questions.empty()) continue;
    std::cout << questions.size() << " " << name << ", depth " << kDepth << "\n";
    agreement.Print();
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  int64_t captions = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[3], &captions) || captions < 0) {
    std::cerr << "usage: feature_agreement STORE QUESTIONS CAPTIONS\n";
    return 2;
  }
  // `bazel run` starts programs elsewhere than where the user stands.
  const char* here = std::getenv("BUILD_WORKING_DIRECTORY");
  const auto path = [&](const std::string& given) {
    return here == nullptr || given[0] == '/' ? given : std::string(here) + "/" + given;
  };
  const absl::Status status = sightline::Run(path(argv[1]), path(argv[2]), captions);
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}
