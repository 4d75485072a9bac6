#include "common/tokenizer/pair_merger.h"

#include <cstddef>

namespace sightline {

void PairMerger::AddWord(const std::vector<std::string>& symbols, int64_t count) {
  Word word;
  for (const std::string& symbol : symbols) word.symbols.push_back(SymbolId(symbol));
  word.count = count;
  words_.push_back(std::move(word));
  CountPairs(static_cast<int>(words_.size()) - 1, +1);
}

absl::optional<PairMerger::Merged> PairMerger::MergeMostFrequent(int64_t min_count) {
  const Pair* best = nullptr;
  std::string best_text;
  for (const auto& [pair, places] : pairs_) {
    const int64_t best_count = best == nullptr ? min_count : pairs_.at(*best).count;
    if (places.count < best_count) continue;
    std::string text = join_(symbols_[pair.first], symbols_[pair.second]);
    if (best != nullptr && places.count == best_count && text >= best_text) continue;
    if (distinct_ && ids_.count(text) > 0) continue;
    best = &pair;
    best_text = std::move(text);
  }
  if (best == nullptr) return absl::nullopt;
  const Pair pair = *best;
  Replace(pair, SymbolId(best_text));
  return Merged{symbols_[pair.first], symbols_[pair.second], std::move(best_text)};
}

int PairMerger::SymbolId(const std::string& text) {
  const auto [found, added] = ids_.emplace(text, static_cast<int>(symbols_.size()));
  if (added) symbols_.push_back(text);
  return found->second;
}

void PairMerger::CountPairs(int index, int sign) {
  const Word& word = words_[index];
  for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
    const auto found = pairs_.try_emplace({word.symbols[i], word.symbols[i + 1]}).first;
    found->second.count += sign * word.count;
    if (found->second.count == 0) {
      pairs_.erase(found);
    } else if (sign > 0) {
      found->second.words.insert(index);
    }
  }
}

void PairMerger::Replace(const Pair& pair, int symbol) {
  // A copy: counting changes the original.  Words that lost the pair meanwhile are found without it
  // and stay as they are.
  const std::set<int> indices = pairs_.at(pair).words;
  for (const int index : indices) {
    CountPairs(index, -1);
    std::vector<int>& word = words_[index].symbols;
    std::vector<int> merged;
    for (size_t i = 0; i < word.size(); ++i) {
      const bool here = i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second;
      merged.push_back(here ? symbol : word[i]);
      i += here;
    }
    word = std::move(merged);
    CountPairs(index, +1);
  }
}

}  // namespace sightline
