#include "common/training/training_set.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Far above what any model reads; they keep sums away from overflow.
constexpr int64_t kMaxTokenCount = 1 << 16;
constexpr int64_t kMaxVocabularySize = 1 << 24;

absl::Status Malformed(const Container& container, absl::string_view section,
                       absl::string_view problem) {
  return absl::DataLossError(
      absl::StrCat(container.path(), ": section ", section, " ", problem,
                   "; the file is not what `trainer prepare` writes, make it again"));
}

// The numbers of a section of rank 1.  Sections of a mapped file begin at multiples of
// 4 KiB, so they can be read in place.
template <typename T>
absl::StatusOr<absl::Span<const T>> ReadNumbers(const Container& container, absl::string_view name,
                                                Dtype dtype) {
  ASSIGN_OR_RETURN(const Section* section, container.Require(name, dtype, /*rank=*/1));
  return absl::Span<const T>(reinterpret_cast<const T*>(section->data),
                             static_cast<size_t>(section->shape[0]));
}

absl::StatusOr<absl::Span<const int64_t>> ReadNumbers(const Container& container,
                                                      absl::string_view name, int64_t count) {
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> numbers,
                   ReadNumbers<int64_t>(container, name, Dtype::kInt64));
  if (static_cast<int64_t>(numbers.size()) != count) {
    return Malformed(container, name,
                     absl::StrCat("has ", numbers.size(), " numbers instead of ", count));
  }
  return numbers;
}

absl::StatusOr<int64_t> ReadNumber(const Container& container, absl::string_view name, int64_t low,
                                   int64_t high) {
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> numbers, ReadNumbers(container, name, 1));
  if (numbers[0] < low || numbers[0] > high) {
    return Malformed(container, name,
                     absl::StrCat("says ", numbers[0], ", not ", low, " to ", high));
  }
  return numbers[0];
}

absl::StatusOr<absl::string_view> ReadText(const Container& container, absl::string_view name) {
  ASSIGN_OR_RETURN(const Section* section, container.Require(name, Dtype::kBytes, /*rank=*/1));
  return absl::string_view(section->data, static_cast<size_t>(section->length));
}

absl::StatusOr<absl::string_view> ReadSha256(const Container& container, absl::string_view name) {
  ASSIGN_OR_RETURN(const absl::string_view text, ReadText(container, name));
  if (!IsSha256Hex(text)) return Malformed(container, name, "is no SHA-256 in hex");
  return text;
}

// Offsets of `numbers.size() - 1` values that fill [0, limit) one after another.
absl::Status CheckOffsets(const Container& container, absl::string_view name,
                          absl::Span<const int64_t> numbers, int64_t limit) {
  if (numbers.empty()) return Malformed(container, name, "is empty");
  if (numbers.front() != 0 || numbers.back() != limit) {
    return Malformed(container, name,
                     absl::StrCat("runs from ", numbers.front(), " to ", numbers.back(),
                                  " instead of 0 to ", limit));
  }
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] < numbers[i - 1]) {
      return Malformed(container, name,
                       absl::StrCat("falls from ", numbers[i - 1], " to ", numbers[i], " at ", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingSet>> TrainingSet::Open(absl::string_view path,
                                                               const CallContext& call) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Map(path));
  RETURN_IF_ERROR(container->Verify(call));
  auto set = absl::WrapUnique(new TrainingSet(std::move(container)));
  RETURN_IF_ERROR(set->ReadLimits());
  RETURN_IF_ERROR(set->ReadSections());
  RETURN_IF_ERROR(set->CheckRows());
  RETURN_IF_ERROR(set->CheckCaptions());
  RETURN_IF_ERROR(set->CheckConcepts());
  set->FindEqualPictures();
  return set;
}

absl::Status TrainingSet::ReadLimits() {
  const Container& container = *container_;
  ASSIGN_OR_RETURN(image_size_, ReadNumber(container, "image_size", 1, limits::kMaxModelImageSize));
  ASSIGN_OR_RETURN(max_token_count_, ReadNumber(container, "max_token_count", 3, kMaxTokenCount));
  ASSIGN_OR_RETURN(vocabulary_size_,
                   ReadNumber(container, "vocabulary_size", 1, kMaxVocabularySize));
  constexpr int64_t kSpecialTokenCount = 5;
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> special,
                   ReadNumbers(container, "special_tokens", kSpecialTokenCount));
  for (const int64_t id : special) {
    if (id < 0 || id >= vocabulary_size_) {
      return Malformed(container, "special_tokens",
                       absl::StrCat("has the id ", id, " of a vocabulary of ", vocabulary_size_));
    }
  }
  int32_t* const ids[kSpecialTokenCount] = {&special_tokens_.pad, &special_tokens_.unk,
                                            &special_tokens_.cls, &special_tokens_.sep,
                                            &special_tokens_.mask};
  for (int64_t i = 0; i < kSpecialTokenCount; ++i) *ids[i] = static_cast<int32_t>(special[i]);
  ASSIGN_OR_RETURN(vocabulary_sha256_, ReadSha256(container, "vocabulary_sha256"));
  ASSIGN_OR_RETURN(items_sha256_, ReadSha256(container, "items_sha256"));
  ASSIGN_OR_RETURN(const absl::string_view languages, ReadText(container, "languages"));
  languages_ = absl::StrSplit(languages, '\n');
  return absl::OkStatus();
}

absl::Status TrainingSet::ReadSections() {
  const Container& container = *container_;
  if (container.Find("texts/concepts") == nullptr) {
    return Malformed(container, "texts/concepts", "is missing, as in sets of an older version");
  }
  ASSIGN_OR_RETURN(const Section* pictures,
                   container.Require("pictures", Dtype::kBytes, /*rank=*/2));
  if (pictures->shape[1] != picture_bytes() || pictures->row_stride_bytes != picture_bytes()) {
    return Malformed(container, "pictures",
                     absl::StrCat("has rows of ", pictures->shape[1], " bytes, ",
                                  pictures->row_stride_bytes, " apart, but pictures of ",
                                  image_size_, " x ", image_size_, " need ", picture_bytes()));
  }
  pictures_ = reinterpret_cast<const uint8_t*>(pictures->data);
  const int64_t rows = pictures->shape[0];
  ASSIGN_OR_RETURN(split_, ReadNumbers(container, "split", rows));
  ASSIGN_OR_RETURN(group_, ReadNumbers(container, "group", rows));
  ASSIGN_OR_RETURN(caption_offsets_, ReadNumbers(container, "captions/items", rows + 1));
  ASSIGN_OR_RETURN(language_, ReadNumbers<int64_t>(container, "language", Dtype::kInt64));
  ASSIGN_OR_RETURN(caption_key_, ReadNumbers(container, "caption_key", caption_count()));
  ASSIGN_OR_RETURN(token_offsets_, ReadNumbers(container, "tokens/captions", caption_count() + 1));
  ASSIGN_OR_RETURN(tokens_, ReadNumbers<int32_t>(container, "tokens", Dtype::kInt32));
  ASSIGN_OR_RETURN(text_offsets_, ReadNumbers<int64_t>(container, "texts/concepts", Dtype::kInt64));
  ASSIGN_OR_RETURN(text_token_offsets_,
                   ReadNumbers<int64_t>(container, "tokens/texts", Dtype::kInt64));
  ASSIGN_OR_RETURN(text_tokens_, ReadNumbers<int32_t>(container, "text_tokens", Dtype::kInt32));
  return absl::OkStatus();
}

absl::Status TrainingSet::Lying(absl::string_view section, int64_t index,
                                absl::string_view problem) const {
  return Malformed(*container_, section, absl::StrCat("says of ", index, ": ", problem));
}

absl::Status TrainingSet::CheckRows() const {
  for (int64_t row = 0; row < row_count(); ++row) {
    if (split_[row] < static_cast<int64_t>(TrainingUse::kTrain) ||
        split_[row] > static_cast<int64_t>(TrainingUse::kHeldOut)) {
      return Lying("split", row, absl::StrCat(split_[row], ", which is no split"));
    }
    const int64_t first = group_[row];
    if (first < 0 || first > row || group_[first] != first) {
      return Lying("group", row, absl::StrCat(first, ", which is not the first row of a group"));
    }
    if (split_[first] != split_[row]) {
      return Lying("split", row,
                   absl::StrCat(split_[row], ", but the first of its group is in ", split_[first]));
    }
  }
  return CheckOffsets(*container_, "captions/items", caption_offsets_, caption_count());
}

void TrainingSet::FindEqualPictures() {
  absl::flat_hash_map<std::string, int64_t> first_rows;
  picture_key_.reserve(split_.size());
  for (int64_t row = 0; row < row_count(); ++row) {
    const absl::string_view bytes(reinterpret_cast<const char*>(picture(row)),
                                  static_cast<size_t>(picture_bytes()));
    picture_key_.push_back(first_rows.emplace(Sha256Hex(bytes), row).first->second);
  }
}

absl::Status TrainingSet::CheckCaptions() {
  RETURN_IF_ERROR(CheckOffsets(*container_, "tokens/captions", token_offsets_,
                               static_cast<int64_t>(tokens_.size())));
  const auto language_count = static_cast<int64_t>(languages_.size());
  for (int64_t row = 0; row < row_count(); ++row) {
    int64_t lowest = 0;
    for (const int64_t caption : captions(row)) {
      if (language_[caption] < lowest || language_[caption] >= language_count) {
        return Lying("language", caption,
                     absl::StrCat(language_[caption], ", not ", lowest, " to ", language_count - 1,
                                  " (in a row they never fall)"));
      }
      lowest = language_[caption];
      if (caption_key_[caption] < 0) {
        return Lying("caption_key", caption, absl::StrCat(caption_key_[caption]));
      }
      RETURN_IF_ERROR(CheckTokens("captions", caption, tokens(caption)));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainingSet::CheckConcepts() {
  RETURN_IF_ERROR(CheckOffsets(*container_, "tokens/texts", text_token_offsets_,
                               static_cast<int64_t>(text_tokens_.size())));
  RETURN_IF_ERROR(CheckOffsets(*container_, "texts/concepts", text_offsets_,
                               static_cast<int64_t>(text_token_offsets_.size()) - 1));
  for (int64_t number = 0; number < concept_count(); ++number) {
    if (texts(number).size() < 2) {
      return Lying("texts/concepts", number, absl::StrCat(texts(number).size(), " texts, not 2"));
    }
    for (const int64_t text : texts(number)) {
      RETURN_IF_ERROR(CheckTokens("texts", text, text_tokens(text)));
    }
  }
  Sha256 hash;
  hash.Update(BytesOfNumbers(text_offsets_));
  hash.Update(BytesOfNumbers(text_token_offsets_));
  hash.Update(BytesOfNumbers(text_tokens_));
  concepts_sha256_ = hash.Hex();
  return absl::OkStatus();
}

// `of` is what the ids are of: captions or texts.
absl::Status TrainingSet::CheckTokens(absl::string_view of, int64_t index,
                                      absl::Span<const int32_t> ids) const {
  const std::string section = absl::StrCat("tokens/", of);
  if (ids.size() < 2 || static_cast<int64_t>(ids.size()) > max_token_count_) {
    return Lying(section, index, absl::StrCat(ids.size(), " tokens, not 2 to ", max_token_count_));
  }
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocabulary_size_) {
      return Lying(section, index,
                   absl::StrCat("the id ", id, " of a vocabulary of ", vocabulary_size_));
    }
  }
  if (ids.front() != special_tokens_.cls || ids.back() != special_tokens_.sep) {
    return Lying(section, index, "ids that are not between [CLS] and [SEP]");
  }
  return absl::OkStatus();
}

std::vector<int64_t> TrainingSet::RowsToLearnFrom(bool with_validation, bool captioned) const {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < row_count(); ++row) {
    const bool allowed = use(row) == TrainingUse::kTrain ||
                         (with_validation && use(row) == TrainingUse::kValidation);
    if (allowed && captions(row).empty() != captioned) rows.push_back(row);
  }
  return rows;
}

std::vector<int64_t> TrainingSet::CaptionedRows(bool with_validation) const {
  return RowsToLearnFrom(with_validation, /*captioned=*/true);
}

std::vector<int64_t> TrainingSet::DistractorRows(bool with_validation) const {
  return RowsToLearnFrom(with_validation, /*captioned=*/false);
}

std::vector<int64_t> TrainingSet::RowsOf(TrainingUse wanted) const {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < row_count(); ++row) {
    if (use(row) == wanted) rows.push_back(row);
  }
  return rows;
}

}  // namespace sightline
