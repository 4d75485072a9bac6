// From captions to the vocabulary of a model that learns from regions, of whatever kind.
//
//   DIR/vocab.txt   what the model's tokenizer is made of (common/tokenizer/vocabulary_maker.h)
#ifndef SIGHTLINE_SERVICES_TRAINER_VOCABULARY_JOB_H_
#define SIGHTLINE_SERVICES_TRAINER_VOCABULARY_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/bundle/model_bundle.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct VocabularyJobOptions {
  std::string out;
  // The kind of tokenizer is taken from it.
  bundle::v1::ModelBundleManifest model;
  int vocabulary_size = 8000;           // at most
  absl::optional<int64_t> min_count;    // none: UsualMinCount of the kind
  std::vector<std::string> text_files;  // captions, one a line
};

struct VocabularySummary {
  std::string path;
  std::string kind;  // as the proto names it
  int64_t token_count = 0;
  int64_t word_count = 0;  // that were read, repetitions included
  int64_t caption_count = 0;
  int64_t line_count = 0;
  int64_t held_out_item_count = 0;  // whose captions were not read
  absl::Duration took;

  // For people, several lines.
  std::string Report() const;
};

// Of all captions of `corpora` but those that are held out, of all lines of the files, and of
// LatinAlphabet where words are spelled by characters.  The same captions give the same bytes.
//
// Cancelled when `call` is; nothing is written then.  InvalidArgument for a model without a
// tokenizer, captions without words, or a size that does not hold what every vocabulary of the kind
// has; ResourceExhausted for too many different words; otherwise as corpora, files and disk
// report.
absl::StatusOr<VocabularySummary> PrepareVocabulary(
    const VocabularyJobOptions& options, const std::vector<std::unique_ptr<CorpusReader>>& corpora,
    const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_VOCABULARY_JOB_H_
