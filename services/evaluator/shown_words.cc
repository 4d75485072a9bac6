#include "services/evaluator/shown_words.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

Split SplitOf(TrainingUse use) {
  switch (use) {
    case TrainingUse::kTrain:
      return Split::kTrain;
    case TrainingUse::kValidation:
      return Split::kValidation;
    case TrainingUse::kHeldOut:
      break;
  }
  return Split::kHeldOut;
}

}  // namespace

int64_t WordCounts::CaptionsOf(Split split) const {
  int64_t count = 0;
  for (const auto& [where, captions] : this->captions) {
    if (where.first == split) count += captions;
  }
  return count;
}

absl::Status ShownWords::AddSet(const TrainingSet& set, const WordTokenizer& tokenizer) {
  if (!tokenizer.is_wordpiece() || tokenizer.vocabulary_sha256() != set.vocabulary_sha256()) {
    return absl::FailedPreconditionError(
        "the set was made with another vocabulary, so that its tokens are other words; give the "
        "model that was trained on it, or the set's own vocab.txt");
  }
  for (int64_t row = 0; row < set.row_count(); ++row) {
    for (const int64_t caption : set.captions(row)) {
      AddCaption(SplitOf(set.use(row)), set.languages()[set.language(caption)],
                 tokenizer.KeysOf(set.tokens(caption)));
    }
  }
  for (int64_t concept_number = 0; concept_number < set.concept_count(); ++concept_number) {
    for (const int64_t text : set.texts(concept_number)) {
      ++total_.texts;
      for (WordCounts* const counts : CountsOf(tokenizer.KeysOf(set.text_tokens(text)))) {
        ++counts->texts;
      }
    }
  }
  return absl::OkStatus();
}

void ShownWords::AddListing(const CorpusListing& listing, const WordTokenizer& tokenizer) {
  for (const CorpusItem& item : listing.items) {
    const Split split = item.split.value_or(SplitOfItem(item.item_id));
    for (const CorpusCaption& caption : item.captions) {
      const absl::StatusOr<std::vector<TokenizedWord>> words = tokenizer.Words(caption.text);
      if (!words.ok()) continue;
      std::vector<std::string> keys;
      for (const TokenizedWord& word : *words) keys.push_back(word.key);
      AddCaption(split, caption.language, std::move(keys));
    }
  }
}

std::vector<WordCounts*> ShownWords::CountsOf(std::vector<std::string> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<WordCounts*> counts;
  for (const std::string& key : keys) {
    const auto found = counts_.find(key);
    if (found != counts_.end()) counts.push_back(&found->second);
  }
  return counts;
}

void ShownWords::AddCaption(Split split, const std::string& language,
                            std::vector<std::string> keys) {
  ++total_.captions[{split, language}];
  for (WordCounts* const counts : CountsOf(std::move(keys))) {
    ++counts->captions[{split, language}];
  }
}

}  // namespace sightline
