#include "services/evaluator/scored_corpus.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/dataset/caption_rule.h"
#include "common/dataset/function_words.h"
#include "common/dataset/open_corpus.h"
#include "common/evaluation/corpus_scores.h"

namespace sightline {
namespace {

using WordSet = std::unordered_set<std::string>;

// What a listing says of a picture and a PairCorpus does not.
struct PictureNote {
  absl::optional<int64_t> place;
  WordSet words;  // to be read in it
};
using PictureNotes = std::unordered_map<std::string, PictureNote>;  // by item id

void AddWords(const std::string& text, WordSet* words) {
  const std::string normal = NormalizeWords(text);
  for (const absl::string_view word : absl::StrSplit(normal, ' ', absl::SkipEmpty())) {
    words->emplace(word);
  }
}

PictureNote NoteOf(const CorpusItem& item) {
  PictureNote note;
  note.place = item.published_place;
  for (const std::string& token : item.ocr_tokens) AddWords(token, &note.words);
  return note;
}

std::vector<std::string> Languages(const ScoresFlags& flags) {
  std::vector<std::string> languages;
  for (const std::string& list : flags.languages) {
    for (const absl::string_view code : absl::StrSplit(list, ',')) languages.emplace_back(code);
  }
  if (languages.empty()) languages.emplace_back("en");
  return languages;
}

absl::StatusOr<std::unique_ptr<PairCorpus>> OpenPairs(const ScoresFlags& flags,
                                                      const ScoresPlan& plan, PictureNotes* notes) {
  PairCorpusOptions options;
  options.languages = Languages(flags);
  options.captions_per_picture = flags.captions_per_picture;
  options.keeps_captionless = true;  // distractors
  options.wanted = [split = plan.split, notes](const CorpusItem& item) {
    if (split.has_value() && item.split.value_or(SplitOfItem(item.item_id)) != *split) return false;
    notes->emplace(item.item_id, NoteOf(item));
    return true;
  };
  std::vector<std::unique_ptr<CorpusReader>> readers;
  for (const std::string& list : flags.corpora) {
    ASSIGN_OR_RETURN(std::vector<CorpusSpec> specs, Within("--corpus", ParseCorpora(list)));
    for (CorpusSpec& spec : specs) {
      spec.languages = options.languages;
      ASSIGN_OR_RETURN(readers.emplace_back(), OpenCorpus(spec));
    }
  }
  return PairCorpus::Open(std::move(readers), options);
}

// Of several corpora two pictures may have the same place: then there is no one order.
void TakePlaces(const PictureNotes& notes, MatrixItems* items) {
  std::unordered_set<int64_t> seen;
  std::vector<int64_t> places;
  for (const std::string& image : items->images) {
    const absl::optional<int64_t>& place = notes.at(image).place;
    if (!place.has_value() || !seen.insert(*place).second) return;
    places.push_back(*place);
  }
  items->places = std::move(places);
}

void CountSharedWords(const PairCorpus& pairs, const PictureNotes& notes, MatrixItems* items) {
  bool any = false;
  for (const auto& [id, note] : notes) any = any || !note.words.empty();
  if (!any) return;
  for (int64_t i = 0; i < pairs.caption_count(); ++i) {
    const WordSet& in_picture = notes.at(pairs.item_id(pairs.picture_of(i))).words;
    WordSet words;
    AddWords(pairs.caption(i), &words);
    const bool english = items->captions[i].language == "en";
    int shared = 0;
    for (const std::string& word : words) {
      if (in_picture.count(word) > 0 && !(english && IsFunctionWord(word))) ++shared;
    }
    items->captions[i].shared_words = shared;
  }
}

}  // namespace

absl::StatusOr<ScoredCorpus> OpenScoredCorpus(const ScoresFlags& flags, const ScoresPlan& plan) {
  ScoredCorpus corpus;
  PictureNotes notes;
  ASSIGN_OR_RETURN(corpus.pairs, OpenPairs(flags, plan, &notes));
  corpus.items = MatrixItemsOf(*corpus.pairs);
  TakePlaces(notes, &corpus.items);
  CountSharedWords(*corpus.pairs, notes, &corpus.items);
  if (flags.families.empty()) return corpus;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.families));
  RETURN_IF_ERROR(Within(flags.families, TakeFamilies(text, &corpus.items)));
  return corpus;
}

}  // namespace sightline
