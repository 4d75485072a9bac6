// Our reading of SentencePiece's models against that of its library, which runs in a process
// of its own (sentencepiece_library.cc).
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/tokenizer/sentencepiece_tokenizer.h"
#include "common/tokenizer/vocabulary_maker.h"
#include "nlohmann/json.hpp"
#include "tests/support/catch.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kLibrary[] = "tests/common/tokenizer/sentencepiece_library";
constexpr char kCases[] = "tests/testdata/goldens/tokenizer/wordpiece_cased.jsonl";

// Texts of many scripts, with what normalisation has to deal with.
std::vector<std::string> GoldenTexts() {
  std::vector<std::string> texts;
  std::ifstream file(kCases);
  for (std::string line; std::getline(file, line);) {
    texts.push_back(nlohmann::json::parse(line)["text"]);
  }
  REQUIRE(texts.size() == 708);
  return texts;
}

// Runs the library on texts; returns what it prints.
std::string RunLibrary(const TempDir& folder, const std::string& arguments,
                       const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) absl::StrAppend(&lines, nlohmann::json(text).dump(), "\n");
  REQUIRE(WriteFileAtomically(folder.File("texts"), lines).ok());
  const std::string command = absl::StrCat(kLibrary, " ", arguments, " < ", folder.File("texts"),
                                           " > ", folder.File("output"), " 2> /dev/null");
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
  return ReadFile(folder.File("output")).value();
}

void RequireEqual(const std::string& model, const std::vector<std::string>& texts) {
  const auto tokenizer = SentencePieceTokenizer::Create(model).value();
  const TempDir folder;
  REQUIRE(WriteFileAtomically(folder.File("model"), model).ok());
  std::istringstream lines(RunLibrary(folder, "encode " + folder.File("model"), texts));
  for (const std::string& text : texts) {
    std::string line;
    REQUIRE(std::getline(lines, line));
    // As fairseq has them.
    std::vector<int32_t> expected = nlohmann::json::parse(line);
    for (int32_t& id : expected) id = id == 0 ? 3 : id + 1;
    CAPTURE(text);
    REQUIRE(tokenizer->Encode(text).value() == expected);
  }
}

// Pieces of the texts in a random order, some cut in the middle of a word.
std::vector<std::string> Mixed(const std::vector<std::string>& texts, int count) {
  std::mt19937 random(23);
  const char* const kBetween[] = {"",       " ",      "  ",     "\u3000", "\u00a0",
                                  "\u2581", "\uff21", "\u0301", "\t",     "\u200b"};
  std::vector<std::string> mixed;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n) {
      const std::string& source = texts[random() % texts.size()];
      size_t begin = source.empty() ? 0 : random() % source.size();
      while (begin < source.size() && (source[begin] & 0xC0) == 0x80) ++begin;
      size_t end = begin + random() % 20;
      while (end < source.size() && (source[end] & 0xC0) == 0x80) ++end;
      text += source.substr(begin, end - begin);
      text += kBetween[random() % std::size(kBetween)];
    }
    mixed.push_back(text);
  }
  return mixed;
}

TEST_CASE("ids equal the library's on a trained model with XLM-R's rules") {
  const std::vector<std::string> texts = GoldenTexts();
  const TempDir folder;
  RunLibrary(folder,
             absl::StrCat("train ", folder.File("model"),
                          " '--vocab_size=2000 --model_type=unigram --hard_vocab_limit=false "
                          "--normalization_rule_name=nmt_nfkc --character_coverage=0.98 "
                          "--num_threads=1'"),
             texts);
  const std::string model = ReadFile(folder.File("model")).value();
  RequireEqual(model, texts);
  RequireEqual(model, Mixed(texts, 5000));
}

TEST_CASE("ids equal the library's on a model that was learnt here") {
  const std::vector<std::string> texts = GoldenTexts();
  VocabularyOptions options;
  options.max_size = 3000;
  const auto maker = NewVocabularyMaker(TokenizerKind::kSentencePiece, options).value();
  for (const std::string& text : texts) REQUIRE(maker->Add(text).ok());
  const MadeVocabulary made = maker->Make().value();
  RequireEqual(made.file, texts);
  RequireEqual(made.file, Mixed(texts, 5000));
}

TEST_CASE("ids equal the library's without rules, whatever is done with spaces") {
  const std::vector<std::string> texts = Mixed(GoldenTexts(), 1000);
  for (int flags = 0; flags < 8; ++flags) {
    std::string spec;
    for (int field = 3; field <= 5; ++field) {
      spec += NumberField(field, (flags >> (field - 3)) & 1);
    }
    CAPTURE(flags);
    RequireEqual(SentencePieceModelBytes({"\u2581", "a", "e", " ", "\u2581a", "er", "\u00e9"}) +
                     BytesField(3, spec),
                 texts);
  }
}

TEST_CASE("of equally good ways to cut a text the library's is taken") {
  std::mt19937 random(29);
  for (int round = 0; round < 30; ++round) {
    std::string model = SentencePieceModelBytes({});
    std::vector<std::string> seen;
    for (int i = 0; i < 25; ++i) {
      std::string text;
      for (size_t n = 1 + random() % 4; n > 0; --n) text += static_cast<char>('a' + random() % 3);
      if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
      seen.push_back(text);
      const float score = -0.1f * static_cast<float>(random() % 5);
      const bool unused = random() % 6 == 0;
      model += SentencePieceEntryBytes({text, score, unused ? 5 : 1});
    }
    std::vector<std::string> texts;
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (size_t n = random() % 30; n > 0; --n) text += static_cast<char>('a' + random() % 3);
      texts.push_back(text);
    }
    RequireEqual(model, texts);
  }
}

}  // namespace
}  // namespace sightline
