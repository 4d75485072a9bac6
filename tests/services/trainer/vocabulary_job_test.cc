#include "services/trainer/vocabulary_job.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "services/trainer/caption_vocabulary.h"
#include "tests/services/trainer/memory_corpus.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::TokenizerSpec;

constexpr TokenizerSpec::Kind kKinds[] = {TokenizerSpec::WORDPIECE, TokenizerSpec::BYTE_LEVEL_BPE,
                                          TokenizerSpec::SENTENCEPIECE, TokenizerSpec::WORD_LIST};

VocabularyJobOptions Options(TokenizerSpec::Kind kind, const TempDir& dir) {
  VocabularyJobOptions options;
  options.out = dir.File("set");
  options.model.mutable_tokenizer()->set_kind(kind);
  options.model.mutable_tokenizer()->set_lowercase(true);
  return options;
}

// Ten learnt from, one that is held out.
MemoryCorpus SomeCaptions() {
  MemoryCorpus corpus;
  for (int i = 0; i < 10; ++i) {
    corpus.Add(absl::StrCat("item/", i), "", {{"en", "A red fish, swimming."}}, Split::kTrain);
  }
  corpus.Add("secret", "", {{"en", "zebra zebra zebra zebra zebra"}}, Split::kHeldOut);
  return corpus;
}

TEST_CASE("a vocabulary of every kind is what the model's tokenizer reads, whole words by one id") {
  const auto corpora = CorporaOf(SomeCaptions());
  for (const TokenizerSpec::Kind kind : kKinds) {
    CAPTURE(TokenizerSpec::Kind_Name(kind));
    TempDir dir;
    const VocabularyJobOptions options = Options(kind, dir);
    const auto summary = PrepareVocabulary(options, corpora, CallContext::Unbounded());
    INFO(summary.status().ToString());
    REQUIRE(summary.ok());
    REQUIRE(summary->path == dir.File("set/vocab.txt"));
    REQUIRE(summary->caption_count == 10);
    REQUIRE(summary->held_out_item_count == 1);
    REQUIRE_THAT(summary->Report(), Catch::Contains(TokenizerSpec::Kind_Name(kind)));
    const std::string file = *ReadFile(summary->path);
    const auto tokenizer = NewTokenizer(options.model.tokenizer(), file);
    REQUIRE(tokenizer.ok());
    REQUIRE((*tokenizer)->vocabulary_size() == summary->token_count);
    // SentencePiece keeps capitals.
    const std::vector<int32_t> ids = *(*tokenizer)->Encode("red fish");
    REQUIRE(ids.size() == 2);
    REQUIRE(std::count(ids.begin(), ids.end(), (*tokenizer)->unk_id()) == 0);
    // What is held out has made no token.
    const std::vector<int32_t> secret = *(*tokenizer)->Encode("zebra");
    REQUIRE((secret.size() > 1 || secret[0] == (*tokenizer)->unk_id()));

    TempDir again;
    REQUIRE(PrepareVocabulary(Options(kind, again), corpora, CallContext::Unbounded()).ok());
    REQUIRE(*ReadFile(again.File("set/vocab.txt")) == file);
  }
}

TEST_CASE("what spells by characters knows every query in a Latin script") {
  for (const TokenizerSpec::Kind kind :
       {TokenizerSpec::WORDPIECE, TokenizerSpec::BYTE_LEVEL_BPE, TokenizerSpec::SENTENCEPIECE}) {
    CAPTURE(TokenizerSpec::Kind_Name(kind));
    TempDir dir;
    const VocabularyJobOptions options = Options(kind, dir);
    const auto corpora = CorporaOf(SomeCaptions());
    REQUIRE(PrepareVocabulary(options, corpora, CallContext::Unbounded()).ok());
    const auto tokenizer =
        NewTokenizer(options.model.tokenizer(), *ReadFile(dir.File("set/vocab.txt")));
    REQUIRE(tokenizer.ok());
    for (const std::string& query :
         {std::string("Zw\u00f6lf Boxk\u00e4mpfer jagen Viktor \u00fcber den Deich!"),
          std::string("\u00bfD\u00f3nde est\u00e1 el ping\u00fcino n\u00ba 7? [x] {y} ~ ^ ` |"),
          LatinAlphabet()}) {
      const std::vector<int32_t> ids = *(*tokenizer)->Encode(query);
      REQUIRE(std::count(ids.begin(), ids.end(), (*tokenizer)->unk_id()) == 0);
    }
  }
}

TEST_CASE("of texts without a word no vocabulary is made") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("captions"), "\n \n").ok());
  VocabularyJobOptions options = Options(TokenizerSpec::WORD_LIST, dir);
  options.text_files = {dir.File("captions")};
  const auto made = PrepareVocabulary(options, {}, CallContext::Unbounded());
  REQUIRE(made.status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(made.status().message(), "no word in 0 captions and 2 lines"));
  REQUIRE_FALSE(FileExists(JoinPath(options.out, kVocabularyFile)));
}

TEST_CASE("files of captions count beside corpora or without them, and rare words by min_count") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("captions"), "one bird\none bird\n").ok());
  VocabularyJobOptions options = Options(TokenizerSpec::WORD_LIST, dir);
  options.text_files = {dir.File("captions"), dir.File("captions")};
  const auto words = [&](const MemoryCorpus& corpus) {
    const auto summary = PrepareVocabulary(options, CorporaOf(corpus), CallContext::Unbounded());
    REQUIRE(summary.ok());
    REQUIRE(summary->line_count == 4);
    return summary->token_count;
  };
  REQUIRE(words(MemoryCorpus()) == 4 + 2);
  REQUIRE(words(SomeCaptions()) == 4 + 2 + 6);
  options.min_count = 5;
  REQUIRE(words(SomeCaptions()) == 4 + 6);
  options.vocabulary_size = 7;
  REQUIRE(words(SomeCaptions()) == 7);
}

TEST_CASE("what cannot be made is refused, and nothing is written") {
  TempDir dir;
  const auto refused = [&](const VocabularyJobOptions& options, const CallContext& call) {
    const absl::Status status =
        PrepareVocabulary(options, CorporaOf(SomeCaptions()), call).status();
    REQUIRE_FALSE(status.ok());
    REQUIRE_FALSE(FileExists(dir.File("set")));
    return std::string(status.message());
  };
  const CallContext call = CallContext::Unbounded();
  REQUIRE_THAT(refused(Options(TokenizerSpec::KIND_UNSPECIFIED, dir), call),
               Catch::Contains("tokenizer.kind is 0"));
  VocabularyJobOptions small = Options(TokenizerSpec::SENTENCEPIECE, dir);
  small.vocabulary_size = 100;
  REQUIRE_THAT(refused(small, call), Catch::Contains("at most 100 tokens does not hold"));
  VocabularyJobOptions missing = Options(TokenizerSpec::WORDPIECE, dir);
  missing.text_files = {dir.File("none")};
  REQUIRE_THAT(refused(missing, call), Catch::Contains("none"));
  refused(Options(TokenizerSpec::WORDPIECE, dir), CallContext(Clock::Real(), absl::InfinitePast()));
}

}  // namespace
}  // namespace sightline
