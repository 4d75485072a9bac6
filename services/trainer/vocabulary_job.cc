#include "services/trainer/vocabulary_job.h"

#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/vocabulary_texts.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/tokenizer/vocabulary_maker.h"
#include "services/trainer/caption_vocabulary.h"

namespace sightline {

std::string VocabularySummary::Report() const {
  return absl::StrFormat(
      "%s is ready\n  tokenizer   %s, %d tokens\n  texts       %d captions and %d lines, of %d "
      "words; %d items that are held out were not read\n  time        %.1f s\n",
      path, kind, token_count, caption_count, line_count, word_count, held_out_item_count,
      absl::ToDoubleSeconds(took));
}

absl::StatusOr<VocabularySummary> PrepareVocabulary(
    const VocabularyJobOptions& options, const std::vector<std::unique_ptr<CorpusReader>>& corpora,
    const CallContext& call) {
  const absl::Time start = call.clock()->Now();
  const bundle::v1::TokenizerSpec& tokenizer = options.model.tokenizer();
  ASSIGN_OR_RETURN(const TokenizerKind kind, TokenizerKindOf(tokenizer));
  VocabularyOptions vocabulary;
  vocabulary.lowercase = tokenizer.lowercase();
  vocabulary.max_size = options.vocabulary_size;
  vocabulary.min_count = options.min_count.value_or(UsualMinCount(kind));
  ASSIGN_OR_RETURN(const std::unique_ptr<VocabularyMaker> maker,
                   NewVocabularyMaker(kind, vocabulary));
  RETURN_IF_ERROR(maker->AddAlphabet(LatinAlphabet()));

  VocabularySummary summary;
  for (const std::string& path : options.text_files) {
    ASSIGN_OR_RETURN(const int64_t lines, AddLines(path, maker.get()));
    summary.line_count += lines;
    RETURN_IF_ERROR(call.Check("counting words"));
  }
  for (const std::unique_ptr<CorpusReader>& corpus : corpora) {
    ASSIGN_OR_RETURN(const CountedCaptions counted,
                     AddCaptions(*corpus, /*leave_out_held_out=*/true, call, maker.get()));
    summary.caption_count += counted.captions;
    summary.held_out_item_count += counted.held_out_items;
  }
  if (maker->word_count() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no word in ", summary.caption_count, " captions and ", summary.line_count,
        " lines, so no vocabulary can be made of them; are the "
        "languages those of the corpora?"));
  }
  ASSIGN_OR_RETURN(const MadeVocabulary made, maker->Make());
  RETURN_IF_ERROR(call.Check("making a vocabulary"));

  RETURN_IF_ERROR(MakeDirectories(options.out));
  summary.path = JoinPath(options.out, kVocabularyFile);
  RETURN_IF_ERROR(WriteFileAtomically(summary.path, made.file));
  summary.kind = bundle::v1::TokenizerSpec::Kind_Name(tokenizer.kind());
  summary.token_count = made.size;
  summary.word_count = maker->word_count();
  summary.took = call.clock()->Now() - start;
  return summary;
}

}  // namespace sightline
