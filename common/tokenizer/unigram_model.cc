#include "common/tokenizer/unigram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sightline {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)), without leaving the range of a double: a long word's probability does.
double LogAdd(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

bool StartsCharacter(absl::string_view word, size_t at) {
  return (static_cast<unsigned char>(word[at]) & 0xC0) != 0x80;
}

}  // namespace

UnigramModel::UnigramModel(std::vector<UnigramPiece> pieces) : pieces_(std::move(pieces)) {
  ids_.reserve(pieces_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    ids_.emplace(pieces_[i].text, static_cast<int>(i));
    longest_ = std::max(longest_, pieces_[i].text.size());
  }
}

// By their beginnings, and of one beginning by their ends.
std::vector<UnigramModel::Edge> UnigramModel::EdgesOf(absl::string_view word) const {
  std::vector<Edge> edges;
  for (size_t begin = 0; begin < word.size(); ++begin) {
    if (!StartsCharacter(word, begin)) continue;
    const size_t last = std::min(word.size(), begin + longest_);
    for (size_t end = begin + 1; end <= last; ++end) {
      if (end < word.size() && !StartsCharacter(word, end)) continue;
      const auto found = ids_.find(word.substr(begin, end - begin));
      if (found != ids_.end()) edges.push_back({begin, end, found->second});
    }
  }
  return edges;
}

double UnigramModel::AddExpectedUses(absl::string_view word, double count,
                                     std::vector<double>* uses) const {
  const std::vector<Edge> edges = EdgesOf(word);
  // What leads to each byte, and from it to the end.
  std::vector<double> before(word.size() + 1, kImpossible), behind(word.size() + 1, kImpossible);
  before.front() = 0;
  behind.back() = 0;
  for (const Edge& edge : edges) {
    before[edge.end] =
        LogAdd(before[edge.end], before[edge.begin] + pieces_[edge.piece].log_probability);
  }
  const double all = before.back();
  if (all == kImpossible) return all;
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
    behind[edge->begin] =
        LogAdd(behind[edge->begin], behind[edge->end] + pieces_[edge->piece].log_probability);
  }
  for (const Edge& edge : edges) {
    (*uses)[edge.piece] +=
        count *
        std::exp(before[edge.begin] + pieces_[edge.piece].log_probability + behind[edge.end] - all);
  }
  return all;
}

std::vector<int> UnigramModel::BestCut(absl::string_view word, int without) const {
  const std::vector<Edge> edges = EdgesOf(word);
  std::vector<double> best(word.size() + 1, kImpossible);
  std::vector<const Edge*> last(word.size() + 1, nullptr);
  best.front() = 0;
  for (const Edge& edge : edges) {
    const double score = best[edge.begin] + pieces_[edge.piece].log_probability;
    if (edge.piece == without || score <= best[edge.end]) continue;
    best[edge.end] = score;
    last[edge.end] = &edge;
  }
  std::vector<int> cut;
  for (size_t end = word.size(); end > 0; end = last[end]->begin) {
    if (last[end] == nullptr) return {};
    cut.push_back(last[end]->piece);
  }
  std::reverse(cut.begin(), cut.end());
  return cut;
}

}  // namespace sightline
