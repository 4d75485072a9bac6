#include "common/training/made_wrong.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// `width` numbers of each region; none where the picture has none of them.
void CopyRow(const std::vector<float>& from, int64_t row, int64_t width, int64_t to,
             std::vector<float>* into) {
  if (from.empty() || into->empty()) return;
  std::copy_n(from.begin() + row * width, width, into->begin() + to * width);
}

// The picture with each region as `shown` has it.
ImageInput Replaced(const std::vector<ImageInput>& pictures, int64_t picture,
                    const std::vector<RegionOf>& shown) {
  ImageInput made = pictures[picture];
  RegionSet& regions = made.regions;
  for (size_t i = 0; i < shown.size(); ++i) {
    const ImageInput& other = pictures[shown[i].picture];
    const int64_t row = shown[i].region, to = static_cast<int64_t>(i);
    CopyRow(other.regions.features, row, regions.feature_size, to, &regions.features);
    CopyRow(other.regions.boxes, row, 4, to, &regions.boxes);
    CopyRow(other.regions.box_sizes, row, 2, to, &regions.box_sizes);
    CopyRow(other.regions.confidences, row, 1, to, &regions.confidences);
    made.tags[i] = other.tags[row];
  }
  return made;
}

// The caption as tags are looked for in it: its words, then, apart, what they are forms of.
std::vector<std::string> Mentioned(const std::vector<CaptionWord>& words) {
  std::vector<std::string> mentioned;
  for (const CaptionWord& word : words) mentioned.push_back(word.text);
  mentioned.emplace_back("\n");
  for (const CaptionWord& word : words) {
    if (!word.lemma.empty()) mentioned.push_back(word.lemma);
  }
  return mentioned;
}

}  // namespace

absl::Status WrongMaker::Check() const {
  if (MakesTexts(task_.made_wrong) && wordnet_ == nullptr) {
    return absl::InvalidArgumentError("made_wrong makes texts, and there is no WordNet");
  }
  const PairCorpus& corpus = pairs_.corpus();
  bool has_tags = false;
  for (int64_t i = 0; i < corpus.picture_count(); ++i) {
    const int64_t tags = pairs_.tag_count(i), regions = pairs_.region_count(i);
    has_tags = has_tags || tags > 0;
    if (!MakesImages(task_.made_wrong) || tags == regions) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(corpus.item_id(i), " has ", tags, " tags and ", regions,
                     " regions; made_wrong replaces regions by their tags and needs one for each"));
  }
  if (has_tags || task_.replaced_kinds == ReplacedKinds::kAll) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "made_wrong replaces nouns by the tags of pictures, and no picture has any; take a corpus "
      "with tags, or set replaced_kinds to all");
}

std::vector<CaptionWord> WrongMaker::ReplacedIn(int64_t caption) const {
  std::vector<CaptionWord> words = wordnet_->WordsOf(pairs_.corpus().caption(caption));
  if (task_.replaced_kinds == ReplacedKinds::kAll) return words;
  for (CaptionWord& word : words) {
    if (word.kind != WordKind::kNoun) word.kind = WordKind::kOther;
  }
  return words;
}

absl::StatusOr<std::vector<int32_t>> WrongMaker::TextOf(int64_t caption,
                                                        const std::vector<std::string>& own,
                                                        const std::vector<std::string>& tags,
                                                        Random* random) const {
  std::vector<std::string> others;  // a tag of the picture itself could be true of it
  for (const std::string& tag : tags) {
    if (!absl::c_linear_search(own, tag)) others.push_back(tag);
  }
  const auto words = HardNegativeText(ReplacedIn(caption), others, wordnet_->antonyms(),
                                      task_.replaced_words, random);
  if (!words.has_value()) return std::vector<int32_t>();
  ASSIGN_OR_RETURN(Tokens tokens, pairs_.learner().text->Tokenize(absl::StrJoin(*words, " ")));
  return std::move(tokens.ids);
}

absl::StatusOr<MadeWrongItems> WrongMaker::Make(const DrawnBatch& batch, int64_t step,
                                                const WorldPart& own) const {
  std::vector<ImageInput> pictures;
  std::vector<std::vector<std::string>> tags;
  std::set<std::string> distinct;
  for (size_t i = 0; i < batch.captions.size(); ++i) {
    ASSIGN_OR_RETURN(pictures.emplace_back(), pairs_.corpus().ReadPicture(batch.pictures[i]));
    tags.push_back(pictures.back().tags);
    distinct.insert(tags.back().begin(), tags.back().end());
  }
  const std::vector<std::string> all(distinct.begin(), distinct.end());
  const BatchTags of_batch(tags);
  MadeWrongItems made;
  for (int64_t row = own.begin; row < own.end; ++row) {
    const int64_t caption = batch.captions[row];
    if (MakesTexts(task_.made_wrong)) {
      Random random(RowSeed(seed_, RandomStream::kHardTexts, step, row));
      ASSIGN_OR_RETURN(std::vector<int32_t> text, TextOf(caption, tags[row], all, &random));
      if (!text.empty()) made.texts.push_back(std::move(text));
    }
    if (MakesImages(task_.made_wrong)) {
      Random random(RowSeed(seed_, RandomStream::kHardImages, step, row));
      const std::string& text = pairs_.corpus().caption(caption);
      const auto mentioned =
          Mentioned(wordnet_ == nullptr ? SplitCaption(text) : wordnet_->WordsOf(text));
      const auto shown =
          of_batch.HardNegativeImage(row, mentioned, task_.replaced_regions, &random);
      // Unchanged, it would be the right one among its own wrong ones.
      if (absl::c_all_of(shown, [row](const RegionOf& at) { return at.picture == row; })) continue;
      ASSIGN_OR_RETURN(made.images.emplace_back(),
                       pairs_.learner().network->ReadImage(Replaced(pictures, row, shown)));
    }
  }
  return made;
}

}  // namespace sightline
