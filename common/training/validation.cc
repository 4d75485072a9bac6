#include "common/training/validation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "common/base/status_macros.h"
#include "common/training/random.h"

namespace sightline {
namespace {

// Recall is told at 1, 5 and 10, so that many are needed even where fewer are reordered.
constexpr int64_t kLeastDepth = 10;
constexpr int64_t kQueriesPerPass = 16;

// Positions of the candidates, best first.
std::vector<size_t> OrderOf(const RankedQuery& query, const Combination* combination) {
  std::vector<size_t> order(query.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (combination == nullptr) return order;
  // Only the first candidates have been judged by the cross-encoder.
  const size_t judged = query.probability.size();
  const std::vector<float> scores = Combine(
      *combination, absl::MakeConstSpan(query.retrieval).subspan(0, judged), query.probability);
  std::stable_sort(order.begin(), order.begin() + judged,
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

// From 1; 0 if there is none.
int64_t RankOfFirstRight(const RankedQuery& query, const Combination* combination) {
  int64_t rank = 0;
  for (const size_t at : OrderOf(query, combination)) {
    ++rank;
    if (query.right[at]) return rank;
  }
  return 0;
}

bool Better(const Recall& a, const Recall& b) {
  if (a.at1 != b.at1) return a.at1 > b.at1;
  return a.mean_reciprocal_rank > b.mean_reciprocal_rank;
}

// The rows that are right, by the keys of their captions' words: the rule of
// common/evaluation/relevance.h.  Held-out rows' captions are not read.
class Answers {
 public:
  explicit Answers(const TrainingSet& set) : set_(set) {
    for (int64_t row = 0; row < set.row_count(); ++row) {
      if (set.use(row) == TrainingUse::kHeldOut) continue;
      for (const int64_t caption : set.captions(row)) {
        std::vector<int64_t>& rows = by_words_[set.caption_key(caption)];
        if (rows.empty() || rows.back() != row) rows.push_back(row);
      }
    }
  }

  // Sorted.
  const std::vector<int64_t>& To(int64_t caption) const {
    return by_words_.at(set_.caption_key(caption));
  }

 private:
  const TrainingSet& set_;
  std::unordered_map<int64_t, std::vector<int64_t>> by_words_;
};

bool HasFirstLanguage(const TrainingSet& set, int64_t row) {
  return !set.captions(row).empty() && set.language(set.captions(row)[0]) == 0;
}

}  // namespace

Recall RecallOf(const std::vector<RankedQuery>& queries, const Combination* combination) {
  Recall recall;
  if (queries.empty()) return recall;
  for (const RankedQuery& query : queries) {
    const int64_t rank = RankOfFirstRight(query, combination);
    if (rank == 0) continue;
    recall.at1 += rank <= 1;
    recall.at5 += rank <= 5;
    recall.at10 += rank <= 10;
    recall.mean_reciprocal_rank += 1.0 / rank;
  }
  const double count = static_cast<double>(queries.size());
  recall.at1 *= 100 / count;
  recall.at5 *= 100 / count;
  recall.at10 *= 100 / count;
  recall.mean_reciprocal_rank /= count;
  return recall;
}

CombinedRecall BestCombination(const std::vector<RankedQuery>& queries) {
  CombinedRecall best;
  best.recall = RecallOf(queries, &best.combination);
  for (const CombinationKind kind :
       {CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    for (int tenth = 1; tenth <= 9; ++tenth) {
      const Combination combination{kind, static_cast<float>(tenth) / 10};
      const Recall recall = RecallOf(queries, &combination);
      if (Better(recall, best.recall)) best = {combination, recall};
    }
  }
  return best;
}

Validator::Validator(const TrainingSet* set, const TrainingRows* rows,
                     const TrainingOptions* options, ScoreKind kind)
    : set_(*set), options_(*options), kind_(kind) {
  validation_ = QueriesOf(set_.RowsOf(TrainingUse::kValidation));
  std::vector<int64_t> sample;
  for (const int64_t row : rows->captioned()) {
    if (set_.use(row) == TrainingUse::kTrain && HasFirstLanguage(set_, row)) sample.push_back(row);
  }
  const int64_t count =
      std::min<int64_t>(options_.validation.training_queries, static_cast<int64_t>(sample.size()));
  Random random(SeedOf(options_.seed, RandomStream::kTrainingSample, 0));
  random.ShuffleFirst(count, &sample);
  sample.resize(count);
  training_ = QueriesOf(sample);
}

std::vector<Validator::Query> Validator::QueriesOf(const std::vector<int64_t>& rows) const {
  const Answers answers(set_);
  std::vector<Query> queries;
  for (const int64_t row : rows) {
    if (!HasFirstLanguage(set_, row)) continue;
    const int64_t caption = set_.captions(row)[0];
    queries.push_back({caption, answers.To(caption)});
  }
  return queries;
}

std::vector<RankedQuery> Validator::Retrieve(const std::vector<Query>& queries,
                                             const at::Tensor& images, JointNet* net) const {
  std::vector<int64_t> captions;
  for (const Query& query : queries) captions.push_back(query.caption);
  const at::Tensor scores = at::matmul(net->EmbedAllCaptions(captions), images.t());
  const int64_t depth = std::min(images.size(0), std::max(kLeastDepth, options_.validation.depth));
  const auto [values, rows] = scores.topk(depth, 1);
  const at::Tensor value = values.to(at::kCPU).contiguous(), row = rows.to(at::kCPU).contiguous();
  const float* score = value.data_ptr<float>();
  const int64_t* candidate = row.data_ptr<int64_t>();
  std::vector<RankedQuery> ranked(queries.size());
  for (size_t i = 0; i < queries.size(); ++i, score += depth, candidate += depth) {
    ranked[i].retrieval.assign(score, score + depth);
    ranked[i].rows.assign(candidate, candidate + depth);
    const std::vector<int64_t>& right = queries[i].right;
    for (const int64_t found : ranked[i].rows) {
      ranked[i].right.push_back(std::binary_search(right.begin(), right.end(), found));
    }
  }
  return ranked;
}

absl::Status Validator::Rerank(const std::vector<Query>& queries, JointNet* net, GridSource* source,
                               const CallContext& call, std::vector<RankedQuery>* ranked) const {
  at::NoGradGuard no_grad;
  const EvaluationScope evaluation(net);
  const int64_t depth =
      std::min(options_.validation.depth, static_cast<int64_t>((*ranked)[0].rows.size()));
  for (size_t begin = 0; begin < queries.size(); begin += kQueriesPerPass) {
    RETURN_IF_ERROR(call.Check("validate"));
    const size_t end = std::min(queries.size(), begin + kQueriesPerPass);
    std::vector<int64_t> captions, rows;
    for (size_t i = begin; i < end; ++i) {
      captions.insert(captions.end(), depth, queries[i].caption);
      rows.insert(rows.end(), (*ranked)[i].rows.begin(), (*ranked)[i].rows.begin() + depth);
    }
    const at::Tensor logits =
        net->PairLogits(net->Captions(captions), net->RegionRows(source->Plain(rows)));
    // What oscar.cc makes of the two logits for either kind of score.
    const at::Tensor raw = kind_ == ScoreKind::kSoftmaxMatch
                               ? (logits.select(1, 1) - logits.select(1, 0)).sigmoid()
                               : logits.select(1, 1);
    const at::Tensor scores = raw.to(at::kCPU).contiguous();
    const float* score = scores.data_ptr<float>();
    for (size_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < depth; ++j) {
        (*ranked)[i].probability.push_back(ToProbability(kind_, *score++));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<QueriesReport> Validator::Ask(const std::vector<Query>& queries,
                                             const at::Tensor& images, JointNet* retriever,
                                             JointNet* reranker, GridSource* source,
                                             const CallContext& call) const {
  QueriesReport report;
  report.queries = static_cast<int64_t>(queries.size());
  if (queries.empty()) return report;
  std::vector<RankedQuery> ranked = Retrieve(queries, images, retriever);
  report.retrieval = RecallOf(ranked, nullptr);
  if (reranker == nullptr) return report;
  RETURN_IF_ERROR(Rerank(queries, reranker, source, call, &ranked));
  const Combination replace;
  report.reranked = RecallOf(ranked, &replace);
  report.best = BestCombination(ranked);
  return report;
}

absl::StatusOr<ValidationReport> Validator::Run(JointNet* retriever, JointNet* reranker,
                                                GridSource* source, const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("validate"));
  std::vector<int64_t> all(set_.row_count());
  std::iota(all.begin(), all.end(), int64_t{0});
  const at::Tensor images = retriever->EmbedAllImages(
      all, [&](const std::vector<int64_t>& rows) { return source->Plain(rows); });
  ValidationReport report;
  report.has_reranking = reranker != nullptr;
  report.pool = set_.row_count();
  ASSIGN_OR_RETURN(report.validation, Ask(validation_, images, retriever, reranker, source, call));
  ASSIGN_OR_RETURN(report.training, Ask(training_, images, retriever, reranker, source, call));
  return report;
}

}  // namespace sightline
