#include "common/training/pair_corpus.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/caption_rule.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

// Of a source that keeps no checksums: megabytes, whatever it holds.
constexpr int64_t kSampledPictures = 100;

// That of all readers that have some; 0 if none has, or they differ.
int SoftLabelCountOf(const std::vector<std::unique_ptr<CorpusReader>>& readers) {
  int count = 0;
  for (const auto& reader : readers) {
    const int own = reader->soft_label_count();
    if (own == 0) continue;
    if (count != 0 && own != count) return 0;
    count = own;
  }
  return count;
}

template <typename T>
absl::StatusOr<T> Named(const CorpusItem& item, absl::StatusOr<T> read) {
  if (read.ok()) return read;
  return absl::Status(read.status().code(),
                      absl::StrCat(item.item_id, ": ", read.status().message()));
}

// So that no other texts in a row give the same bytes.
void AddText(absl::string_view text, Sha256* hash) {
  hash->Update(absl::StrCat(text.size(), ":"));
  hash->Update(text);
}

void AddNumbers(const std::vector<float>& numbers, Sha256* hash) {
  AddText(absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                            numbers.size() * sizeof(float)),
          hash);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PairCorpus>> PairCorpus::Open(
    std::vector<std::unique_ptr<CorpusReader>> corpora, const PairCorpusOptions& options) {
  auto opened = absl::WrapUnique(new PairCorpus());
  for (int i = 0; i < static_cast<int>(corpora.size()); ++i) {
    RETURN_IF_ERROR(opened->Add(*corpora[i], i, options));
  }
  opened->readers_ = std::move(corpora);
  opened->NoteLeftOut("captions without a visible character", opened->blank_);
  opened->NoteLeftOut(options.refused, opened->refused_);
  if (opened->captions_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no picture has a caption that is taken: of ", opened->seen_, " pictures ", opened->wanted_,
        " are of the splits that are asked for, and the languages of captions that are taken are ",
        absl::StrJoin(options.languages, ", "), opened->notes_.empty() ? "" : "; ",
        absl::StrJoin(opened->notes_, "; ")));
  }
  opened->soft_label_count_ = SoftLabelCountOf(opened->readers_);
  RETURN_IF_ERROR(opened->FindTwins());
  opened->NoteMissingLanguages(options);
  opened->NumberWords();
  ASSIGN_OR_RETURN(opened->digest_, opened->MakeDigest());
  return opened;
}

std::string PairCorpus::NoteOfWidth(absl::Span<const int> sizes) const {
  if (sizes.size() < 2 || region_feature_size_ == 0) return "";
  return absl::StrCat(
      region_feature_size_, " numbers a region, the box's ", sizes.back() - sizes.front(),
      region_feature_size_ == sizes.back() ? " taken to be among them" : " put behind them");
}

absl::Status PairCorpus::Add(const CorpusReader& reader, int corpus,
                             const PairCorpusOptions& options) {
  const int width = reader.region_feature_size();
  if (width == 0) {
    return absl::InvalidArgumentError(
        "a corpus holds pictures, and what is learnt here reads regions; make them with trainer "
        "extract, or of a detector's files with sightlinectl import-regions");
  }
  if (region_feature_size_ != 0 && width != region_feature_size_) {
    return absl::InvalidArgumentError(absl::StrCat("one corpus has regions of ",
                                                   region_feature_size_, " numbers, another of ",
                                                   width, "; a model reads one width"));
  }
  region_feature_size_ = width;
  ASSIGN_OR_RETURN(CorpusListing listing, reader.List());
  NoteProblems(listing);
  for (CorpusItem& item : listing.items) {
    ++seen_;
    if (options.wanted == nullptr || options.wanted(item)) {
      ++wanted_;
      AddPicture({&reader, corpus, std::move(item), 0, 0, {}}, options);
    }
  }
  return absl::OkStatus();
}

void PairCorpus::NoteProblems(const CorpusListing& listing) {
  const auto note = [this](const std::vector<CorpusProblem>& problems, absl::string_view what) {
    if (problems.empty()) return;
    const CorpusProblem& first = problems.front();
    notes_.push_back(absl::StrCat(
        problems.size(), what, "; the first: ", first.item_id.empty() ? first.path : first.item_id,
        ": ", first.reason));
  };
  note(listing.rejected, " items of a corpus were left out");
  note(listing.warnings, " items of a corpus have less than they should");
}

void PairCorpus::NoteLeftOut(absl::string_view captions, const LeftOut& left_out) {
  if (left_out.count == 0) return;
  notes_.push_back(absl::StrCat(captions, " were left out, ", left_out.count,
                                " of them; the first is of ", left_out.first));
}

void PairCorpus::NoteMissingLanguages(const PairCorpusOptions& options) {
  for (const std::string& wanted : options.languages) {
    const bool there = std::any_of(captions_.begin(), captions_.end(), [&](const Caption& caption) {
      return WantsLanguage({wanted}, caption.language);
    });
    if (!there) notes_.push_back(absl::StrCat("no caption is in the language '", wanted, "'"));
  }
}

bool PairCorpus::Takes(const std::string& caption, const std::string& item_id,
                       const PairCorpusOptions& options) {
  const bool visible = HasVisibleCharacter(caption);
  if (visible && (options.refuses == nullptr || !options.refuses(caption))) return true;
  LeftOut& left_out = visible ? refused_ : blank_;
  if (++left_out.count == 1) left_out.first = item_id;
  return false;
}

void PairCorpus::AddPicture(Picture picture, const PairCorpusOptions& options) {
  picture.first_caption = caption_count();
  std::map<std::string, int> taken;
  for (CorpusCaption& caption : picture.item.captions) {
    if (!WantsLanguage(options.languages, caption.language)) continue;
    if (!Takes(caption.text, picture.item.item_id, options)) continue;
    int& of_language = taken[caption.language];
    if (options.captions_per_picture > 0 && of_language == options.captions_per_picture) continue;
    ++of_language;
    captions_.push_back({std::move(caption.text), std::move(caption.language), picture_count(), 0});
    ++picture.caption_count;
  }
  if (picture.caption_count == 0 && !options.keeps_captionless) return;
  picture.item.captions.clear();
  pictures_.push_back(std::move(picture));
}

absl::Status PairCorpus::FindTwins() const {
  std::unordered_set<std::string> ids;
  for (const Picture& picture : pictures_) {
    if (!ids.insert(picture.item.item_id).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two corpora have a picture ", picture.item.item_id, "; give one of them an id_prefix"));
    }
  }
  return absl::OkStatus();
}

void PairCorpus::NumberWords() {
  std::unordered_map<std::string, int32_t> numbers;
  for (Caption& caption : captions_) {
    const auto number = static_cast<int32_t>(numbers.size());
    caption.words = numbers.emplace(NormalizeWords(caption.text), number).first->second;
    pictures_[caption.picture].words.push_back(caption.words);
  }
  for (Picture& picture : pictures_) std::sort(picture.words.begin(), picture.words.end());
}

bool PairCorpus::MayBeRight(int64_t caption, int64_t picture) const {
  const std::vector<int32_t>& words = pictures_[picture].words;
  return std::binary_search(words.begin(), words.end(), captions_[caption].words);
}

absl::Status PairCorpus::CheckTellable() const {
  std::unordered_map<int32_t, int64_t> pictures_of;  // by words
  for (const Picture& picture : pictures_) {
    for (size_t i = 0; i < picture.words.size(); ++i) {
      if (i == 0 || picture.words[i] != picture.words[i - 1]) ++pictures_of[picture.words[i]];
    }
  }
  for (const Caption& caption : captions_) {
    if (pictures_of[caption.words] == picture_count()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", caption.text, "\" may be right for all ",
                                                     picture_count(), " pictures"));
    }
  }
  for (const Picture& picture : pictures_) {
    std::vector<int32_t> words = picture.words;
    words.erase(std::unique(words.begin(), words.end()), words.end());
    if (words.size() == pictures_of.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("all captions may be right for ", picture.item.item_id));
    }
  }
  return absl::OkStatus();
}

absl::Status PairCorpus::CheckAnyWrong(int64_t corpus) const {
  std::unordered_set<int32_t> all;
  const Picture* least = nullptr;  // of those with captions, with the fewest words
  size_t fewest = 0;
  for (const Picture& picture : pictures_) {
    if (picture.words.empty() || (corpus > 0 && picture.corpus != corpus - 1)) continue;
    const std::unordered_set<int32_t> own(picture.words.begin(), picture.words.end());
    all.insert(own.begin(), own.end());
    if (least != nullptr && own.size() >= fewest) continue;
    least = &picture;
    fewest = own.size();
  }
  // What does not have the words of some caption is a picture for which that is wrong.
  if (fewest < all.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no caption is wrong for any picture", corpus > 0 ? absl::StrCat(" of corpus ", corpus) : "",
      ", so there is nothing to learn: ",
      least == nullptr ? "there are no captions"
                       : absl::StrCat("all are said of ", least->item.item_id, ", \"",
                                      captions_[least->first_caption].text, "\" among them")));
}

absl::StatusOr<std::string> PairCorpus::MakeDigest() const {
  Sha256 hash;
  for (const Picture& picture : pictures_) {
    AddText(picture.item.item_id, &hash);
    for (int64_t i = 0; i < picture.caption_count; ++i) {
      const Caption& caption = captions_[picture.first_caption + i];
      AddText(caption.language, &hash);
      AddText(caption.text, &hash);
    }
    AddText("", &hash);
    for (const std::string& tag : picture.item.tags) AddText(tag, &hash);
    AddText("", &hash);
    for (const std::string& word : picture.item.ocr_tokens) AddText(word, &hash);
    AddText("", &hash);
  }
  // Pictures of a reader lie together.
  int64_t end = 0;
  for (const auto& reader : readers_) {
    const int64_t begin = end;
    while (end < picture_count() && pictures_[end].reader == reader.get()) ++end;
    if (begin < end) RETURN_IF_ERROR(AddRegions(*reader, begin, end, &hash));
  }
  return hash.Hex();
}

// Of pictures [begin, end), which are the reader's.
absl::Status PairCorpus::AddRegions(const CorpusReader& reader, int64_t begin, int64_t end,
                                    Sha256* hash) const {
  const std::string known = reader.RegionsDigest();
  AddText(known, hash);
  if (!known.empty()) return absl::OkStatus();
  for (int64_t picture = begin; picture < end; ++picture) {
    AddText(absl::StrCat(FileSize(pictures_[picture].item.path).value_or(0)), hash);
  }
  const int64_t count = std::min(end - begin, kSampledPictures);
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(AddPictureRegions(begin + i * (end - begin) / count, hash));
  }
  return absl::OkStatus();
}

absl::Status PairCorpus::AddPictureRegions(int64_t picture, Sha256* hash) const {
  const auto read = ReadPicture(picture);
  // What may be read another time would then be another digest.
  if (absl::IsUnavailable(read.status())) return read.status();
  if (!read.ok()) {
    // Whoever learns from it will be told; here it only has to be another one.
    AddText(absl::StatusCodeToString(read.status().code()), hash);
    return absl::OkStatus();
  }
  const RegionSet& regions = read->regions;
  for (const std::vector<float>* numbers :
       {&regions.features, &regions.boxes, &regions.box_sizes, &regions.confidences}) {
    AddNumbers(*numbers, hash);
  }
  if (soft_label_count_ == 0) return absl::OkStatus();
  const auto labels = ReadSoftLabels(picture);
  if (absl::IsUnavailable(labels.status())) return labels.status();
  if (labels.ok()) AddNumbers(*labels, hash);
  return absl::OkStatus();
}

absl::StatusOr<ImageInput> PairCorpus::ReadPicture(int64_t picture) const {
  const Picture& from = pictures_[picture];
  ImageInput input;
  ASSIGN_OR_RETURN(input.regions,
                   Named(from.item, from.reader->ReadRegions(from.item, kMostModelRegionBytes)));
  input.tags = from.item.tags;
  input.ocr_tokens = from.item.ocr_tokens;
  return input;
}

absl::StatusOr<std::vector<float>> PairCorpus::ReadSoftLabels(int64_t picture) const {
  const Picture& from = pictures_[picture];
  return Named(from.item, from.reader->ReadSoftLabels(from.item, kMostModelRegionBytes));
}

}  // namespace sightline
