#include "services/trainer/prepare_job.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/dataset/caption_rule.h"
#include "common/dataset/near_duplicates.h"
#include "services/trainer/caption_vocabulary.h"
#include "services/trainer/item_names.h"
#include "services/trainer/prepared_folder.h"

namespace sightline {
namespace {

// Squared pictures wait here until it is known which rows they make.
constexpr absl::string_view kSpoolFile = "pictures.spool";

TrainingUse UseOf(Split split) {
  switch (split) {
    case Split::kTrain:
      return TrainingUse::kTrain;
    case Split::kValidation:
      return TrainingUse::kValidation;
    case Split::kHeldOut:
      return TrainingUse::kHeldOut;
  }
  return TrainingUse::kHeldOut;
}

absl::Status CheckDistinct(const std::vector<ListedPicture>& listed) {
  for (size_t i = 1; i < listed.size(); ++i) {
    const CorpusItem& a = listed[i - 1].item;
    const CorpusItem& b = listed[i].item;
    if (a.item_id == b.item_id) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two corpora have an item \"", a.item_id, "\": ", EscapeUnlessPrintable(a.path), " and ",
          EscapeUnlessPrintable(b.path), "; leave one of them out, or put both below one folder"));
    }
  }
  return absl::OkStatus();
}

// Those of the first language first; within a language as the corpus has them.
std::vector<CorpusCaption> InOrderOfLanguages(const std::vector<CorpusCaption>& captions,
                                              const std::vector<std::string>& languages) {
  std::vector<CorpusCaption> ordered;
  for (const std::string& language : languages) {
    for (const CorpusCaption& caption : captions) {
      if (caption.language == language) ordered.push_back(caption);
    }
  }
  return ordered;
}

// What a run that was killed has left.
void RemoveLeftovers(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".tmp")) continue;
    if (!absl::StartsWith(name, kSpoolFile) && !absl::StartsWith(name, kTrainingSetFile)) continue;
    std::error_code ignored;  // a file that stays costs space, nothing else
    std::filesystem::remove(JoinPath(directory, name), ignored);
  }
}

absl::Status RemoveFile(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return FileError("remove", path, error.value());
  return absl::OkStatus();
}

std::vector<PrepareSummary::LargeGroup> LargestGroups(const std::vector<ListedItem>& items) {
  constexpr size_t kMostTold = 5;
  std::map<int64_t, int64_t> sizes;
  for (const ListedItem& item : items) ++sizes[item.group];
  std::vector<PrepareSummary::LargeGroup> groups;
  for (const auto& [row, size] : sizes) {
    if (size > 1) groups.push_back({items[row].item_id, size});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.items > b.items; });
  if (groups.size() > kMostTold) groups.resize(kMostTold);
  return groups;
}

}  // namespace

std::string PrepareSummary::Report() const {
  SplitCounts all;
  for (const SplitCounts& counts : splits) {
    all.groups += counts.groups;
    all.items += counts.items;
    all.captioned_items += counts.captioned_items;
  }
  std::string report = absl::StrFormat(
      "%s is ready\n  items       %d in %d groups, %d with captions; %d skipped, see %s\n", out,
      all.items, all.groups, all.captioned_items, skipped_count, kSkippedFile);
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kHeldOut}) {
    const SplitCounts& counts = splits[static_cast<size_t>(split)];
    absl::StrAppendFormat(&report, "  %-10s  %d in %d groups, %d with captions\n", SplitName(split),
                          counts.items, counts.groups, counts.captioned_items);
  }
  absl::StrAppend(&report, "  captions   ");
  for (const auto& [language, count] : captions) {
    absl::StrAppend(&report, " ", language, " ", count);
  }
  absl::StrAppendFormat(&report, "; %d without a word left out, %d cut\n", wordless_caption_count,
                        cut_caption_count);
  if (companions + refused_companions > 0) {
    absl::StrAppend(&report, "  companions  ", companions, " items to learn from alone; ",
                    refused_companions, " left out, as they would give away what is held out\n");
  }
  if (named_items > 0) {
    absl::StrAppend(&report, "  names       ", named_items, " items without captions have names\n");
  }
  if (concepts + single_text_concepts > 0) {
    absl::StrAppend(&report, "  concepts    ", concepts, "; ", single_text_concepts,
                    " left out, with fewer than two texts that differ\n");
  }
  absl::StrAppendFormat(&report, "  tokens      %d, of which %d unknown; vocabulary %d\n",
                        token_count, unknown_token_count, vocabulary_size);
  absl::StrAppend(&report, "  duplicates  largest groups:");
  for (const LargeGroup& group : largest_groups) {
    absl::StrAppend(&report, " ", group.items, " (", group.first_item_id, ")");
  }
  absl::StrAppendFormat(&report, "%s\n  time        %.1f s\n",
                        largest_groups.empty() ? " none" : "", absl::ToDoubleSeconds(took));
  return report;
}

absl::StatusOr<PrepareSummary> PrepareJob::Run(const CallContext& call) {
  const absl::Time start = call.clock()->Now();
  summary_.out = options_.out;
  RETURN_IF_ERROR(MakeDirectories(options_.out));
  RemoveLeftovers(options_.out);
  RETURN_IF_ERROR(List(call));
  RETURN_IF_ERROR(SquareAll(call));
  RETURN_IF_ERROR(MakeVocabulary());
  RETURN_IF_ERROR(Tokenize());
  RETURN_IF_ERROR(TokenizeConcepts());
  RETURN_IF_ERROR(call.Check("preparing"));
  RETURN_IF_ERROR(Write(call));
  CountItems();
  summary_.took = call.clock()->Now() - start;
  return summary_;
}

absl::Status PrepareJob::ListCorpus(const CorpusReader& corpus, bool companion) {
  if (corpus.region_feature_size() > 0) {
    return absl::InvalidArgumentError(
        "a corpus of regions has no pictures to prepare; give one of kind folder, stamps, clipart "
        "or emoji, or a published set without regions, or by --model-config a model that reads "
        "regions");
  }
  ASSIGN_OR_RETURN(CorpusListing listing, corpus.List());
  for (CorpusItem& item : listing.items) listed_.push_back({&corpus, std::move(item), companion});
  std::move(listing.rejected.begin(), listing.rejected.end(), std::back_inserter(skipped_));
  return absl::OkStatus();
}

absl::Status PrepareJob::List(const CallContext& call) {
  for (const std::unique_ptr<CorpusReader>& corpus : corpora_) {
    RETURN_IF_ERROR(call.Check("listing the corpora"));
    RETURN_IF_ERROR(ListCorpus(*corpus, /*companion=*/false));
  }
  for (const std::unique_ptr<CorpusReader>& corpus : companions_) {
    RETURN_IF_ERROR(call.Check("listing the corpora"));
    RETURN_IF_ERROR(ListCorpus(*corpus, /*companion=*/true));
  }
  std::stable_sort(listed_.begin(), listed_.end(),
                   [](const ListedPicture& a, const ListedPicture& b) {
                     return a.item.item_id < b.item.item_id;
                   });
  return CheckDistinct(listed_);
}

absl::Status PrepareJob::SquareAll(const CallContext& call) {
  SquaringOptions squaring;
  squaring.threads = options_.threads;
  squaring.image_size = options_.model.grid_extractor().image_size();
  squaring.limits = options_.limits;
  content_.image_size = squaring.image_size;
  ASSIGN_OR_RETURN(spool_, AtomicFile::Create(JoinPath(options_.out, kSpoolFile)));
  const auto store = [this](int64_t index, absl::string_view bytes) {
    return spool_->WriteAt(index * static_cast<int64_t>(bytes.size()), bytes);
  };
  ASSIGN_OR_RETURN(const std::vector<SquaredPicture> squared,
                   SquarePictures(listed_, squaring, store, call, progress_));
  for (size_t i = 0; i < listed_.size(); ++i) {
    if (squared[i].problem.empty()) {
      slots_.push_back(static_cast<int64_t>(i));
    } else {
      skipped_.push_back({listed_[i].item.item_id, listed_[i].item.path, squared[i].problem});
    }
  }
  if (slots_.empty()) {
    return absl::FailedPreconditionError(
        skipped_.empty() ? std::string("the corpora hold no item at all; are their paths right?")
                         : absl::StrCat("all ", skipped_.size(), " pictures are bad; the first: ",
                                        skipped_[0].item_id, ": ", skipped_[0].reason));
  }
  AssignSplits(squared);
  ChooseCaptions();
  return absl::OkStatus();
}

// Of a companion, what it would give away of the `guarded` pictures; empty if nothing.
std::string PrepareJob::Betrayal(size_t companion, const std::vector<SquaredPicture>& squared,
                                 const std::vector<size_t>& guarded) const {
  const absl::string_view id = listed_[companion].item.item_id;
  const Split own = listed_[companion].item.split.value_or(Split::kTrain);
  if (own != Split::kTrain) {
    return absl::StrCat("is ", SplitName(own), " in its own set, which must not be learnt");
  }
  for (const size_t other : guarded) {
    const std::string& guarded_id = listed_[other].item.item_id;
    if (absl::EndsWith(id, absl::StrCat("/", guarded_id))) {
      return absl::StrCat("is named for ", guarded_id, ", which must not be learnt");
    }
    if (AreNearDuplicates(squared[companion].fingerprint, squared[other].fingerprint)) {
      return absl::StrCat("is a near duplicate of ", guarded_id, ", which must not be learnt");
    }
  }
  return "";
}

// Splits follow from the corpora alone, whatever is learnt from beside them.
void PrepareJob::AssignSplits(const std::vector<SquaredPicture>& squared) {
  std::vector<PictureFingerprint> prints;
  std::vector<std::string> ids;
  std::vector<absl::optional<Split>> said;
  std::vector<size_t> own;  // indices into listed_
  for (const int64_t slot : slots_) {
    if (listed_[slot].companion) continue;
    own.push_back(slot);
    prints.push_back(squared[slot].fingerprint);
    ids.push_back(listed_[slot].item.item_id);
    said.push_back(listed_[slot].item.split);
  }
  const std::vector<int64_t> groups = GroupNearDuplicates(prints);
  const std::vector<Split> splits = SplitsOfItems(ids, groups, said);
  std::vector<size_t> guarded;
  for (size_t i = 0; i < own.size(); ++i) {
    if (splits[i] != Split::kTrain) guarded.push_back(own[i]);
  }

  std::vector<int64_t> kept;
  size_t own_count = 0;
  // A group that its sources part is one in each split.  Its smallest id comes first.
  std::map<std::pair<int64_t, Split>, int64_t> first_rows;
  for (const int64_t slot : slots_) {
    const CorpusItem& item = listed_[slot].item;
    const auto row = static_cast<int64_t>(kept.size());
    ListedItem listed = {item.item_id, Split::kTrain, row,
                         InOrderOfLanguages(item.captions, options_.languages)};
    if (listed_[slot].companion) {
      std::string betrayal = Betrayal(slot, squared, guarded);
      if (!betrayal.empty()) {
        skipped_.push_back({item.item_id, item.path, std::move(betrayal)});
        ++summary_.refused_companions;
        continue;
      }
      ++summary_.companions;
    } else {
      listed.split = splits[own_count];
      listed.group = first_rows.try_emplace({groups[own_count], listed.split}, row).first->second;
      ++own_count;
    }
    kept.push_back(slot);
    items_.push_back(std::move(listed));
  }
  slots_ = std::move(kept);
}

void PrepareJob::ChooseCaptions() {
  ItemNames names;
  for (const ListedItem& item : items_) {
    captions_.push_back(item.captions);
    if (!options_.learn_names || item.split != Split::kTrain || !item.captions.empty()) continue;
    for (std::string& name : names.CaptionsOf(item.item_id)) {
      captions_.back().push_back({options_.languages[0], std::move(name)});
    }
    summary_.named_items += !captions_.back().empty();
  }
}

absl::Status PrepareJob::MakeVocabulary() {
  const bool lowercase = options_.model.tokenizer().lowercase();
  vocabulary_ = options_.vocabulary;
  if (vocabulary_.empty()) {
    std::vector<absl::string_view> captions;
    for (size_t row = 0; row < items_.size(); ++row) {
      if (items_[row].split == Split::kHeldOut) continue;
      for (const CorpusCaption& caption : captions_[row]) captions.push_back(caption.text);
    }
    std::vector<absl::string_view> background;
    for (const std::vector<std::string>& texts : options_.concepts) {
      background.insert(background.end(), texts.begin(), texts.end());
    }
    ASSIGN_OR_RETURN(vocabulary_, MakeCaptionVocabulary(captions, background, lowercase,
                                                        options_.vocabulary_size));
  }
  ASSIGN_OR_RETURN(tokenizer_, WordPieceTokenizer::Create(vocabulary_, {lowercase}));
  content_.max_token_count = options_.model.tokenizer().max_token_count();
  content_.vocabulary_size = tokenizer_->vocabulary_size();
  content_.special_tokens = {tokenizer_->pad_id(), tokenizer_->unk_id(), tokenizer_->cls_id(),
                             tokenizer_->sep_id(), tokenizer_->mask_id()};
  summary_.vocabulary_size = content_.vocabulary_size;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> PrepareJob::TokensOf(absl::string_view text, bool* cut) const {
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer_->Encode(text));
  if (ids.empty()) return ids;
  const auto most = static_cast<size_t>(content_.max_token_count - 2);
  *cut = ids.size() > most;
  if (*cut) ids.resize(most);
  ids.insert(ids.begin(), tokenizer_->cls_id());
  ids.push_back(tokenizer_->sep_id());
  return ids;
}

absl::Status PrepareJob::Tokenize() {
  content_.languages = options_.languages;
  std::map<std::string, int64_t> keys;  // by the normalised words
  std::vector<int64_t> counts(options_.languages.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    TrainingRow row;
    row.use = UseOf(items_[i].split);
    row.group = items_[i].group;
    for (const CorpusCaption& caption : captions_[i]) {
      const std::string words = NormalizeWords(caption.text);
      TrainingCaption prepared;
      bool cut = false;
      if (!words.empty()) {
        ASSIGN_OR_RETURN(prepared.tokens, TokensOf(caption.text, &cut));
      }
      if (prepared.tokens.empty()) {
        ++summary_.wordless_caption_count;
        continue;
      }
      prepared.language =
          std::find(options_.languages.begin(), options_.languages.end(), caption.language) -
          options_.languages.begin();
      prepared.key = keys.emplace(words, static_cast<int64_t>(keys.size())).first->second;
      ++counts[prepared.language];
      summary_.cut_caption_count += cut;
      summary_.token_count += static_cast<int64_t>(prepared.tokens.size());
      summary_.unknown_token_count +=
          std::count(prepared.tokens.begin(), prepared.tokens.end(), tokenizer_->unk_id());
      row.captions.push_back(std::move(prepared));
    }
    content_.rows.push_back(std::move(row));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    summary_.captions.emplace_back(options_.languages[i], counts[i]);
  }
  return absl::OkStatus();
}

absl::Status PrepareJob::TokenizeConcepts() {
  for (const std::vector<std::string>& texts : options_.concepts) {
    TrainingConcept prepared;
    for (const std::string& text : texts) {
      if (NormalizeWords(text).empty()) continue;
      bool cut = false;
      ASSIGN_OR_RETURN(std::vector<int32_t> tokens, TokensOf(text, &cut));
      const bool is_new = std::find(prepared.begin(), prepared.end(), tokens) == prepared.end();
      if (!tokens.empty() && is_new) prepared.push_back(std::move(tokens));
    }
    if (prepared.size() >= 2) content_.concepts.push_back(std::move(prepared));
  }
  summary_.concepts = static_cast<int64_t>(content_.concepts.size());
  summary_.single_text_concepts =
      static_cast<int64_t>(options_.concepts.size()) - summary_.concepts;
  return absl::OkStatus();
}

absl::Status PrepareJob::Write(const CallContext& call) {
  const std::string set_path = JoinPath(options_.out, kTrainingSetFile);
  const std::string items = ItemJsonLines(items_);
  content_.vocabulary_sha256 = Sha256Hex(vocabulary_);
  content_.items_sha256 = Sha256Hex(items);
  summary_.skipped_count = static_cast<int64_t>(skipped_.size());

  RETURN_IF_ERROR(RemoveFile(set_path));
  RETURN_IF_ERROR(
      WriteFileAtomically(JoinPath(options_.out, kSkippedFile), SkippedJsonLines(skipped_)));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(options_.out, kVocabularyFile), vocabulary_));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(options_.out, kItemsFile), items));

  ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> pictures,
                   MappedFile::Open(spool_->temporary_path()));
  const int64_t size = 3 * content_.image_size * content_.image_size;
  progress_->Begin("write", "pictures", static_cast<int64_t>(slots_.size()));
  RETURN_IF_ERROR(
      WriteTrainingSet(set_path, content_, [&](int64_t row) -> absl::StatusOr<absl::string_view> {
        RETURN_IF_ERROR(call.Check("writing the training set"));
        progress_->Advance(1);
        return pictures->bytes().substr(static_cast<size_t>(slots_[row] * size),
                                        static_cast<size_t>(size));
      }));
  progress_->End();
  return absl::OkStatus();
}

void PrepareJob::CountItems() {
  for (size_t row = 0; row < items_.size(); ++row) {
    PrepareSummary::SplitCounts& counts = summary_.splits[static_cast<size_t>(items_[row].split)];
    ++counts.items;
    counts.groups += items_[row].group == static_cast<int64_t>(row);
    counts.captioned_items += !items_[row].captions.empty();
  }
  summary_.largest_groups = LargestGroups(items_);
}

}  // namespace sightline
