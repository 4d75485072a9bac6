// From corpora to a folder that a training run reads.
//
//   DIR/skipped.jsonl     items without a row, and why
//   DIR/vocab.txt         WordPiece vocabulary
//   DIR/items.jsonl       what each row is: item_list.h
//   DIR/cache.container   pictures, tokens, splits: common/training/training_set.h
//
// Each file appears whole or not at all.  The last one is removed before the first is
// written and written after the others, so a folder that has it is whole; it names the
// other two by their SHA-256.
#ifndef SIGHTLINE_SERVICES_TRAINER_PREPARE_JOB_H_
#define SIGHTLINE_SERVICES_TRAINER_PREPARE_JOB_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/bundle/model_bundle.h"
#include "common/dataset/corpus.h"
#include "common/dataset/splits.h"
#include "common/image/decode.h"
#include "common/log/progress.h"
#include "common/tokenizer/wordpiece.h"
#include "common/training/training_set_writer.h"
#include "services/trainer/item_list.h"
#include "services/trainer/picture_squarer.h"

namespace sightline {

struct PrepareOptions {
  std::string out;
  // The corpora were opened with these.  Captions of the first one come first.
  std::vector<std::string> languages;
  // Image size, tokenizer and token limit are taken from it.
  bundle::v1::ModelBundleManifest model;
  std::string vocabulary;  // text of a vocab.txt; empty: made of the captions
  int vocabulary_size = 8000;
  // Pictures without captions that may be learnt from get some of their names
  // (item_names.h).  items.jsonl does not have these, and no question is asked by them.
  bool learn_names = false;
  // Texts that say the same (text_list.h), learnt from beside the captions.  Their words are
  // in the vocabulary where those of the captions leave room.
  std::vector<std::vector<std::string>> concepts;
  int threads = 1;
  DecodeLimits limits;
};

struct PrepareSummary {
  struct SplitCounts {
    int64_t groups = 0;
    int64_t items = 0;
    int64_t captioned_items = 0;
  };
  struct LargeGroup {
    std::string first_item_id;
    int64_t items = 0;
  };

  std::string out;
  std::array<SplitCounts, 3> splits;                      // indexed by Split
  std::vector<std::pair<std::string, int64_t>> captions;  // by language
  int64_t companions = 0;                                 // items that are only learnt from
  int64_t refused_companions = 0;      // left out, as too like what must not be learnt
  int64_t named_items = 0;             // have captions of their names only
  int64_t concepts = 0;                // of two or more different texts
  int64_t single_text_concepts = 0;    // left out
  int64_t wordless_caption_count = 0;  // left out: nothing in them is a word
  int64_t token_count = 0;
  int64_t unknown_token_count = 0;
  int64_t cut_caption_count = 0;  // longer than the model reads
  int64_t vocabulary_size = 0;
  int64_t skipped_count = 0;
  std::vector<LargeGroup> largest_groups;  // of more than one item
  absl::Duration took;

  // For people, several lines.
  std::string Report() const;
};

// Runs once.  Not thread-safe.
class PrepareJob {
 public:
  // `companions` are learnt from, and no more: their items are in no validation and not held
  // out, and change nobody's split.  Those that would give away what is are left out: a near
  // duplicate of such a picture, and what is named for it ("other/emoji/1f988" of
  // "emoji/1f988"), another drawing of the same thing; and what its own set holds out.
  // `progress` outlives the job.
  PrepareJob(PrepareOptions options, std::vector<std::unique_ptr<CorpusReader>> corpora,
             Progress* progress, std::vector<std::unique_ptr<CorpusReader>> companions = {})
      : options_(std::move(options)),
        corpora_(std::move(corpora)),
        companions_(std::move(companions)),
        progress_(progress) {}

  // Cancelled when `call` is; the folder is unchanged, or without cache.container if writing
  // had begun.  InvalidArgument:
  // two items of one id, a vocabulary that is none or is too small.  FailedPrecondition:
  // no good picture at all.  Otherwise as corpora and disk report.
  absl::StatusOr<PrepareSummary> Run(const CallContext& call);

 private:
  absl::Status List(const CallContext& call);
  absl::Status ListCorpus(const CorpusReader& corpus, bool companion);
  absl::Status SquareAll(const CallContext& call);
  void AssignSplits(const std::vector<SquaredPicture>& squared);
  std::string Betrayal(size_t companion, const std::vector<SquaredPicture>& squared,
                       const std::vector<size_t>& guarded) const;
  void ChooseCaptions();
  absl::Status MakeVocabulary();
  absl::Status Tokenize();
  absl::Status TokenizeConcepts();
  absl::StatusOr<std::vector<int32_t>> TokensOf(absl::string_view text, bool* cut) const;
  absl::Status Write(const CallContext& call);
  void CountItems();

  const PrepareOptions options_;
  const std::vector<std::unique_ptr<CorpusReader>> corpora_, companions_;
  Progress* const progress_;

  std::vector<ListedPicture> listed_;  // in the order of item ids
  std::vector<CorpusProblem> skipped_;
  std::unique_ptr<AtomicFile> spool_;                 // squared pictures, by index into listed_
  std::vector<int64_t> slots_;                        // row -> index into listed_
  std::vector<ListedItem> items_;                     // by row, as all below
  std::vector<std::vector<CorpusCaption>> captions_;  // to learn from and to ask by
  std::string vocabulary_;
  std::unique_ptr<WordPieceTokenizer> tokenizer_;
  TrainingSetContent content_;
  PrepareSummary summary_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_PREPARE_JOB_H_
