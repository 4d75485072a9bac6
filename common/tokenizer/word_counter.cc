#include "common/tokenizer/word_counter.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// What a node of the map has beside the word's bytes, roughly.
constexpr size_t kNodeBytes = 80;

}  // namespace

absl::Status WordCounter::Add(const std::string& word) {
  if (word.size() > kMaxWordBytes) return absl::OkStatus();
  const auto [found, added] = counts_.try_emplace(word, 0);
  if (added) {
    bytes_ += word.size() + kNodeBytes;
    if (bytes_ > max_bytes_) {
      bytes_ -= word.size() + kNodeBytes;
      counts_.erase(found);
      return absl::ResourceExhaustedError(
          absl::StrCat("the texts have more than ", counts_.size(),
                       " different words, which are all that a vocabulary is made of; are they "
                       "words of a language?  Give fewer texts"));
    }
  }
  ++found->second;
  ++total_;
  return absl::OkStatus();
}

std::vector<CountedWord> CountedWordsOf(const WordCounter& words) {
  std::vector<CountedWord> counted;
  counted.reserve(words.counts().size());
  for (const auto& [word, count] : words.counts()) counted.push_back({word, count});
  return counted;
}

std::vector<CountedWord> MostFrequentWords(std::vector<CountedWord> words, size_t max_bytes) {
  std::sort(words.begin(), words.end(), [](const CountedWord& a, const CountedWord& b) {
    return std::tie(b.count, a.text) < std::tie(a.count, b.text);
  });
  size_t bytes = 0, kept = 0;
  while (kept < words.size() && bytes + words[kept].text.size() <= max_bytes) {
    bytes += words[kept++].text.size();
  }
  words.resize(kept);
  std::sort(words.begin(), words.end(),
            [](const CountedWord& a, const CountedWord& b) { return a.text < b.text; });
  return words;
}

}  // namespace sightline
