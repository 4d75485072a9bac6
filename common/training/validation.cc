#include "common/training/validation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <set>
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
  std::vector<size_t> order(query.items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (combination == nullptr) return order;
  // Only the first candidates have been judged by the cross-encoder.
  const size_t judged = query.reranks.size();
  const std::vector<float> scores =
      Combine(*combination, absl::MakeConstSpan(query.retrieval).subspan(0, judged), query.reranks);
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

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

bool HasFirstLanguage(const TrainingSet& set, int64_t row) {
  return !set.captions(row).empty() && set.language(set.captions(row)[0]) == 0;
}

}  // namespace

bool IsBetter(const Recall& a, const Recall& b) {
  if (a.at1 != b.at1) return a.at1 > b.at1;
  return a.mean_reciprocal_rank > b.mean_reciprocal_rank;
}

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
      if (IsBetter(recall, best.recall)) best = {combination, recall};
    }
  }
  return best;
}

Validator::Validator(const TrainingSet* set, const TrainingRows* rows,
                     const TrainingOptions* options, ScoreKind kind)
    : set_(*set), options_(*options), kind_(kind), rows_(Numbers(set->row_count())) {
  for (const int64_t row : rows_) {
    if (set_.use(row) == TrainingUse::kHeldOut) continue;
    for (const int64_t caption : set_.captions(row)) captions_.push_back(caption);
  }
  const std::vector<int64_t> validation = set_.RowsOf(TrainingUse::kValidation);
  validation_ = TextQueries(validation);
  validation_images_ = ImageQueries(validation);
  std::vector<int64_t> sample;
  for (const int64_t row : rows->captioned()) {
    if (set_.use(row) == TrainingUse::kTrain && HasFirstLanguage(set_, row)) sample.push_back(row);
  }
  const int64_t count =
      std::min<int64_t>(options_.validation.training_queries, static_cast<int64_t>(sample.size()));
  Random random(SeedOf(options_.seed, RandomStream::kTrainingSample, 0));
  random.ShuffleFirst(count, &sample);
  sample.resize(count);
  training_ = TextQueries(sample);
}

std::vector<Validator::Query> Validator::TextQueries(const std::vector<int64_t>& rows) const {
  const Answers answers(set_);
  std::vector<Query> queries;
  for (const int64_t row : rows) {
    if (!HasFirstLanguage(set_, row)) continue;
    const int64_t caption = set_.captions(row)[0];
    queries.push_back({caption, answers.To(caption)});
  }
  return queries;
}

// As the captions index is asked: right is any caption, in the first language, of the same
// words as one of the picture's own.
std::vector<Validator::Query> Validator::ImageQueries(const std::vector<int64_t>& rows) const {
  std::unordered_map<int64_t, std::vector<int64_t>> by_words;
  for (const int64_t caption : captions_) {
    if (set_.language(caption) == 0) by_words[set_.caption_key(caption)].push_back(caption);
  }
  std::vector<Query> queries;
  for (const int64_t row : rows) {
    if (!HasFirstLanguage(set_, row)) continue;
    std::set<int64_t> right;
    for (const int64_t caption : set_.captions(row)) {
      if (set_.language(caption) != 0) continue;
      const std::vector<int64_t>& same = by_words.at(set_.caption_key(caption));
      right.insert(same.begin(), same.end());
    }
    queries.push_back({row, {right.begin(), right.end()}});
  }
  return queries;
}

std::vector<int64_t> Validator::Asking(const std::vector<Query>& queries) {
  std::vector<int64_t> asking;
  for (const Query& query : queries) asking.push_back(query.asking);
  return asking;
}

std::vector<RankedQuery> Validator::Retrieve(const Questions& questions) const {
  const at::Tensor scores = at::matmul(questions.embeddings, questions.pool_embeddings.t());
  const int64_t depth = std::min(static_cast<int64_t>(questions.pool.size()),
                                 std::max(kLeastDepth, options_.validation.depth));
  const auto [values, places] = scores.topk(depth, 1);
  const at::Tensor value = values.to(at::kCPU).contiguous();
  const at::Tensor place = places.to(at::kCPU).contiguous();
  const float* score = value.data_ptr<float>();
  const int64_t* candidate = place.data_ptr<int64_t>();
  std::vector<RankedQuery> ranked(questions.queries.size());
  for (size_t i = 0; i < ranked.size(); ++i, score += depth, candidate += depth) {
    ranked[i].retrieval.assign(score, score + depth);
    const std::vector<int64_t>& right = questions.queries[i].right;
    for (int64_t j = 0; j < depth; ++j) {
      const int64_t found = questions.pool[candidate[j]];
      ranked[i].items.push_back(found);
      ranked[i].right.push_back(std::binary_search(right.begin(), right.end(), found));
    }
  }
  return ranked;
}

absl::Status Validator::Rerank(const Questions& questions, JointNet* net, GridSource* source,
                               const CallContext& call, std::vector<RankedQuery>* ranked) const {
  at::NoGradGuard no_grad;
  const EvaluationScope evaluation(net);
  const std::vector<Query>& queries = questions.queries;
  const int64_t depth =
      std::min(options_.validation.depth, static_cast<int64_t>((*ranked)[0].items.size()));
  for (size_t begin = 0; begin < queries.size(); begin += kQueriesPerPass) {
    RETURN_IF_ERROR(call.Check("validate"));
    const size_t end = std::min(queries.size(), begin + kQueriesPerPass);
    std::vector<int64_t> asking, found;
    for (size_t i = begin; i < end; ++i) {
      asking.insert(asking.end(), depth, queries[i].asking);
      const std::vector<int64_t>& items = (*ranked)[i].items;
      found.insert(found.end(), items.begin(), items.begin() + depth);
    }
    const std::vector<int64_t>& captions = questions.by_text ? asking : found;
    const std::vector<int64_t>& rows = questions.by_text ? found : asking;
    const at::Tensor logits =
        net->PairLogits(net->Captions(captions), net->RegionRows(source->Plain(rows)));
    // What oscar/model.cc makes of the two logits for either kind of score.
    const at::Tensor raw = kind_ == ScoreKind::kSoftmaxMatch
                               ? (logits.select(1, 1) - logits.select(1, 0)).sigmoid()
                               : logits.select(1, 1);
    const at::Tensor scores = raw.to(at::kCPU).contiguous();
    const float* score = scores.data_ptr<float>();
    for (size_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < depth; ++j) {
        (*ranked)[i].reranks.push_back(ToRerankScore(kind_, *score++));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<QueriesReport> Validator::Ask(const Questions& questions, JointNet* reranker,
                                             GridSource* source, const CallContext& call) const {
  QueriesReport report;
  report.queries = static_cast<int64_t>(questions.queries.size());
  std::vector<RankedQuery> ranked = Retrieve(questions);
  report.retrieval = RecallOf(ranked, nullptr);
  if (reranker == nullptr) return report;
  RETURN_IF_ERROR(Rerank(questions, reranker, source, call, &ranked));
  const Combination replace;
  report.reranked = RecallOf(ranked, &replace);
  report.best = BestCombination(ranked);
  return report;
}

absl::StatusOr<ValidationReport> Validator::Run(JointNet* retriever, JointNet* reranker,
                                                GridSource* source, const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("validate"));
  const at::Tensor images = retriever->EmbedAllImages(
      rows_, [&](const std::vector<int64_t>& rows) { return source->Plain(rows); });
  const auto ask_texts = [&](const std::vector<Query>& queries) -> absl::StatusOr<QueriesReport> {
    if (queries.empty()) return QueriesReport();
    const at::Tensor texts = retriever->EmbedAllCaptions(Asking(queries));
    return Ask({true, queries, texts, rows_, images}, reranker, source, call);
  };
  ValidationReport report;
  report.has_reranking = reranker != nullptr;
  report.pool = set_.row_count();
  ASSIGN_OR_RETURN(report.validation, ask_texts(validation_));
  ASSIGN_OR_RETURN(report.training, ask_texts(training_));
  if (reranker == nullptr || validation_images_.empty()) return report;
  report.captions_pool = static_cast<int64_t>(captions_.size());
  const at::Tensor rows = at::tensor(Asking(validation_images_), at::kLong).to(images.device());
  const at::Tensor captions = retriever->EmbedAllCaptions(captions_);
  ASSIGN_OR_RETURN(report.image_to_text, Ask({false, validation_images_,
                                              images.index_select(0, rows), captions_, captions},
                                             reranker, source, call));
  return report;
}

}  // namespace sightline
