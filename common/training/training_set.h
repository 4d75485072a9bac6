// What a trainer reads: pictures as the model will see them, captions as token ids, and
// which of them may be learnt from.  `trainer prepare` writes the file, once; training
// runs map it.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<TrainingSet> set, TrainingSet::Open(path));
//   for (int64_t row : set->CaptionedRows(/*with_validation=*/false)) {
//     const uint8_t* picture = set->picture(row);
//     for (int64_t caption : set->captions(row)) Use(set->tokens(caption));
//   }
//
// A row is an item; rows are in the bytewise order of item ids.  A caption is numbered
// through all rows: those of row i follow those of row i - 1.  A concept is some texts that
// say the same ("wombat", "a burrowing Australian marsupial"), without a picture; texts are
// numbered through all concepts.
//
// The file is a container (common/bundle/container.h) with these sections, n rows and c
// captions:
//
//   pictures           bytes [n, 3 * S * S]  planes R, G, B of S x S pixels, 0 to 255
//   image_size         int64 [1]             S
//   split              int64 [n]             see Split below
//   group              int64 [n]             the first row of its near duplicates in its split
//   captions/items     int64 [n + 1]         captions of row i: [i] to [i + 1]
//   tokens/captions    int64 [c + 1]         tokens of caption j: [j] to [j + 1]
//   tokens             int32 [t]             ids; [CLS] first and [SEP] last in a caption
//   language           int64 [c]             index into `languages`, never falling in a row
//   caption_key        int64 [c]             equal where the words are equal
//   languages          bytes                 codes, one a line; queries use the first
//   texts/concepts     int64 [m + 1]         texts of concept i: [i] to [i + 1], two or more
//   tokens/texts       int64 [x + 1]         tokens of text j: [j] to [j + 1]
//   text_tokens        int32 [y]             like `tokens`
//   max_token_count    int64 [1]             no caption is longer
//   vocabulary_size    int64 [1]             every id is smaller
//   special_tokens     int64 [5]             ids of [PAD], [UNK], [CLS], [SEP], [MASK]
//   vocabulary_sha256  bytes [64]            of the vocab.txt that made the ids, hex
//   items_sha256       bytes [64]            of the items.jsonl that names the rows, hex
//
// No torch in here, and nothing above common/bundle: what trains on another machine is
// built from few files.
#ifndef SIGHTLINE_COMMON_TRAINING_TRAINING_SET_H_
#define SIGHTLINE_COMMON_TRAINING_TRAINING_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"

namespace sightline {

// What training may do with a row.  On disk: never renumber.
enum class TrainingUse : int64_t {
  kTrain = 0,
  kValidation = 1,  // decides between checkpoints; learnt from only when asked for
  kHeldOut = 2,     // never looked at
};

// Ids of the tokens that are no text.
struct SpecialTokens {
  int32_t pad = 0;
  int32_t unk = 0;
  int32_t cls = 0;
  int32_t sep = 0;
  int32_t mask = 0;
};

// Consecutive numbers, for a range-based loop.
class IndexRange {
 public:
  class Iterator {
   public:
    explicit Iterator(int64_t value) : value_(value) {}
    int64_t operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return value_ != other.value_; }

   private:
    int64_t value_;
  };

  IndexRange(int64_t begin, int64_t end) : begin_(begin), end_(end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }
  int64_t operator[](int64_t i) const { return begin_ + i; }
  int64_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

 private:
  int64_t begin_;
  int64_t end_;
};

// Immutable, thread-safe.  Rows and captions that are passed in must be in range.  Views
// and pointers live as long as the set.
class TrainingSet {
 public:
  // Maps the file, compares its checksums and checks every number in it: what is opened
  // can be indexed without a further look.  DataLoss, naming the section and the value:
  // not a container, damaged, or numbers that contradict each other.
  // FailedPrecondition: a newer format.  NotFound and so on from opening.
  static absl::StatusOr<std::unique_ptr<TrainingSet>> Open(
      absl::string_view path, const CallContext& call = CallContext::Unbounded());

  int64_t row_count() const { return static_cast<int64_t>(split_.size()); }
  int64_t caption_count() const { return static_cast<int64_t>(language_.size()); }

  // Side of the square pictures, in pixels.
  int64_t image_size() const { return image_size_; }
  // Bytes of a picture: 3 * image_size * image_size.
  int64_t picture_bytes() const { return 3 * image_size_ * image_size_; }
  // Planes R, G and B, row by row.
  const uint8_t* picture(int64_t row) const { return pictures_ + row * picture_bytes(); }
  // All of them, one after another.
  const uint8_t* pictures() const { return pictures_; }

  TrainingUse use(int64_t row) const { return static_cast<TrainingUse>(split_[row]); }
  // The first row of its near duplicates in its split; the row itself if it has none.
  // Groups keep splits apart and are good for nothing else: each member is like some other
  // one, not like all, so that a group may hold hundreds of different pictures.
  int64_t group(int64_t row) const { return group_[row]; }
  // The first row whose picture has the same bytes.
  int64_t picture_key(int64_t row) const { return picture_key_[row]; }

  // Captions of a row, the best of the first language first; empty for a distractor.
  IndexRange captions(int64_t row) const {
    return IndexRange(caption_offsets_[row], caption_offsets_[row + 1]);
  }
  // [CLS] pieces [SEP], at most max_token_count.
  absl::Span<const int32_t> tokens(int64_t caption) const {
    return tokens_.subspan(token_offsets_[caption],
                           token_offsets_[caption + 1] - token_offsets_[caption]);
  }
  // Index into languages().
  int64_t language(int64_t caption) const { return language_[caption]; }
  // Equal for captions of the same words, in whatever language.
  int64_t caption_key(int64_t caption) const { return caption_key_[caption]; }

  int64_t concept_count() const { return static_cast<int64_t>(text_offsets_.size()) - 1; }
  // Texts of a concept, two or more.
  IndexRange texts(int64_t concept_number) const {
    return IndexRange(text_offsets_[concept_number], text_offsets_[concept_number + 1]);
  }
  // As of a caption.
  absl::Span<const int32_t> text_tokens(int64_t text) const {
    return text_tokens_.subspan(text_token_offsets_[text],
                                text_token_offsets_[text + 1] - text_token_offsets_[text]);
  }

  // Rows with captions that may be learnt from, in order: those of use kTrain, and with
  // `with_validation` those of kValidation too.
  std::vector<int64_t> CaptionedRows(bool with_validation) const;
  // Rows without captions, by the same rule: they serve as wrong answers only.
  std::vector<int64_t> DistractorRows(bool with_validation) const;
  // Rows of one use, captioned or not, in order.
  std::vector<int64_t> RowsOf(TrainingUse wanted) const;

  const std::vector<std::string>& languages() const { return languages_; }
  int64_t max_token_count() const { return max_token_count_; }
  int64_t vocabulary_size() const { return vocabulary_size_; }
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  // SHA-256 in hex of the vocabulary and of the list of items.
  absl::string_view vocabulary_sha256() const { return vocabulary_sha256_; }
  absl::string_view items_sha256() const { return items_sha256_; }
  // Of all concepts and their texts.
  const std::string& concepts_sha256() const { return concepts_sha256_; }

 private:
  explicit TrainingSet(std::unique_ptr<Container> container) : container_(std::move(container)) {}

  absl::Status ReadLimits();
  absl::Status ReadSections();
  absl::Status CheckRows() const;
  void FindEqualPictures();
  absl::Status CheckCaptions();
  absl::Status CheckConcepts();
  absl::Status CheckTokens(absl::string_view of, int64_t index,
                           absl::Span<const int32_t> ids) const;
  std::vector<int64_t> RowsToLearnFrom(bool with_validation, bool captioned) const;
  absl::Status Lying(absl::string_view section, int64_t index, absl::string_view problem) const;

  const std::unique_ptr<Container> container_;
  const uint8_t* pictures_ = nullptr;
  int64_t image_size_ = 0;
  absl::Span<const int64_t> split_, group_;
  absl::Span<const int64_t> caption_offsets_, token_offsets_;
  absl::Span<const int32_t> tokens_;
  absl::Span<const int64_t> language_, caption_key_;
  absl::Span<const int64_t> text_offsets_, text_token_offsets_;
  absl::Span<const int32_t> text_tokens_;
  std::vector<int64_t> picture_key_;
  std::vector<std::string> languages_;
  int64_t max_token_count_ = 0;
  int64_t vocabulary_size_ = 0;
  SpecialTokens special_tokens_;
  absl::string_view vocabulary_sha256_, items_sha256_;
  std::string concepts_sha256_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TRAINING_SET_H_
