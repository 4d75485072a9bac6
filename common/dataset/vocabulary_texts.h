// What a vocabulary is made of: captions of corpora, and lines of text.
#ifndef SIGHTLINE_COMMON_DATASET_VOCABULARY_TEXTS_H_
#define SIGHTLINE_COMMON_DATASET_VOCABULARY_TEXTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/tokenizer/vocabulary_maker.h"

namespace sightline {

// Of how many items captions were counted, and of how many not.
struct CountedCaptions {
  int64_t captions = 0;
  int64_t held_out_items = 0;
};

// Counts the captions that `corpus` gives, of pictures or of regions, piece by piece.  With
// `leave_out_held_out` not those of items that are held out (splits.h: by what their source says or
// by their ids).  Cancelled when `call` is; otherwise as ListTo and VocabularyMaker::Add.
absl::StatusOr<CountedCaptions> AddCaptions(const CorpusReader& corpus, bool leave_out_held_out,
                                            const CallContext& call, VocabularyMaker* maker);

// Counts each line of the file as a text; returns how many.  Errors of TextLines::Read, and those
// of VocabularyMaker::Add with the line's number from one.
absl::StatusOr<int64_t> AddLines(const std::string& path, VocabularyMaker* maker);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_VOCABULARY_TEXTS_H_
