// Words of a WordNet that is made up, in the released one's form.
#include "common/training/wordnet.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kLicence[] = "  1 This software and database is being provided to you\n";

class Fixture {
 public:
  Fixture() {
    Put("index.noun",
        "dog n 2 2 @ ~ 2 2 02084071 10114209  \nman n 1 0 1 1 00000001\n"
        "box n 1 0 1 1 00000002\nrun n 1 0 1 1 00000003\nwhite n 2 0 2 2 00000020\nin n 1 0 1 0 "
        "00000004\n"
        "tall n 1 0 1 0 00000005\nlife_jacket n 1 0 1 0 00000006\n");
    Put("index.verb",
        "run v 3 0 3 3 00000007 00000008 00000009\nrise v 1 1 ! 1 1 00000010\n"
        "fall v 1 1 ! 1 1 00000011\nlike v 1 0 1 1 00000012\n");
    Put("index.adj",
        "white a 2 0 2 2 00000021\n"
        "tall a 1 1 ! 1 1 00000013\nshort a 1 1 ! 1 1 00000014\n"
        "low a 1 1 ! 1 1 00000014\n");
    Put("index.adv", "well r 1 1 ! 1 1 00000015\nbadly r 1 1 ! 1 1 00000016\n");
    Put("cntlist.rev",
        "run%2:38:00:: 1 9\nrun%1:04:00:: 1 2\nwhite%1:07:00:: 1 16\n"
        "white%3:00:01:: 1 70\nwhite%5:00:00:pale:00 2 6\n");
    Put("noun.exc", "oxen ox\n");
    Put("verb.exc", "ran run\nrose rise\n");
    Put("adj.exc", "");
    Put("adv.exc", "best well\n");
    Put("data.verb",
        "00000010 38 v 02 rise 0 go_up 1 002 @ 00000007 v 0000 ! 00000011 v 0101 01 + "
        "01 00 | move upward; \"the ! fog rose\"\n"
        "00000011 38 v 01 fall 0 001 ! 00000010 v 0101 00 | descend\n");
    Put("data.adj",
        "00000013 00 a 01 tall 0 001 ! 00000014 a 0101 | great in height\n"
        "00000014 00 a 02 short(p) 0 low 1 001 ! 00000013 a 0101 | of no height\n");
    Put("data.adv",
        "00000015 02 r 01 well 0 001 ! 00000016 r 0102 | in a good way\n"
        "00000016 02 r 02 ill 0 badly 0 000 | \n");
  }

  void Put(const std::string& name, const std::string& text) {
    REQUIRE(WriteFileAtomically(dir.File(name), kLicence + text).ok());
  }
  WordNet Read() const {
    absl::StatusOr<WordNet> wordnet = WordNet::Read(dir.path());
    INFO(wordnet.status());
    REQUIRE(wordnet.ok());
    return *std::move(wordnet);
  }
  CaptionWord Word(const std::string& text) const {
    const std::vector<CaptionWord> words = Read().WordsOf(text);
    REQUIRE(words.size() == 1);
    return words[0];
  }
  void Refuses(const std::string& name, const std::string& text, const std::string& why) {
    const std::string before = *ReadFile(dir.File(name));
    Put(name, text);
    const absl::Status status = WordNet::Read(dir.path()).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(absl::StrCat(name, ", line ")));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(why));
    REQUIRE(WriteFileAtomically(dir.File(name), before).ok());
  }

  TempDir dir;
};

TEST_CASE_METHOD(Fixture, "a word is of the kind in which it is meant most often") {
  REQUIRE(Word("white").kind == WordKind::kAdjective);
}

TEST_CASE_METHOD(Fixture, "of words that no text has, it is that of the most senses") {
  REQUIRE(Word("dog").kind == WordKind::kNoun);
  REQUIRE(Word("run").kind == WordKind::kVerb);
  REQUIRE(Word("tall").kind == WordKind::kAdjective);
  REQUIRE(Word("well").kind == WordKind::kAdverb);
  REQUIRE(Word("wombat").kind == WordKind::kOther);
}

TEST_CASE_METHOD(Fixture, "forms are known by exceptions and by rules, nearest to the word first") {
  const auto is = [this](const std::string& form, WordKind kind, const std::string& lemma) {
    const CaptionWord word = Word(form);
    REQUIRE(word.text == form);
    REQUIRE(word.kind == kind);
    REQUIRE(word.lemma == lemma);
  };
  is("dogs", WordKind::kNoun, "dog");
  is("boxes", WordKind::kNoun, "box");
  is("men", WordKind::kNoun, "man");
  is("ran", WordKind::kVerb, "run");
  is("falling", WordKind::kVerb, "fall");
  is("rising", WordKind::kVerb, "rise");
  is("taller", WordKind::kAdjective, "tall");
  is("best", WordKind::kAdverb, "well");
  // The exception names a word that there is not, nor is there another.
  is("oxen", WordKind::kOther, "");
}

TEST_CASE_METHOD(Fixture, "function words are no nouns, whatever WordNet has") {
  REQUIRE(Word("in").kind == WordKind::kOther);
  REQUIRE(Word("3").kind == WordKind::kOther);
}

TEST_CASE_METHOD(Fixture, "words are known without what surrounds them, which they keep") {
  const std::vector<CaptionWord> words = Read().WordsOf(" The dogs' \"Box\" -- ran! ");
  std::vector<std::string> texts, whole;
  for (const CaptionWord& word : words) {
    texts.push_back(word.text);
    whole.push_back(word.before + word.written + word.after);
  }
  REQUIRE(texts == std::vector<std::string>{"the", "dogs", "box", "", "ran"});
  REQUIRE(whole == std::vector<std::string>{"The", "dogs'", "\"Box\"", "--", "ran!"});
  REQUIRE(words[2].kind == WordKind::kNoun);
}

TEST_CASE_METHOD(Fixture, "another WordNet has another digest") {
  const std::string digest = Read().digest();
  REQUIRE(Read().digest() == digest);
  Put("cntlist.rev", "run%2:38:00:: 1 8\n");
  REQUIRE(Read().digest() != digest);
}

TEST_CASE_METHOD(Fixture, "antonyms are of the very words that WordNet names") {
  const WordNet wordnet = Read();
  const auto of = [&](const std::string& word) {
    const auto found = wordnet.antonyms().find(word);
    return found == wordnet.antonyms().end() ? std::vector<std::string>() : found->second;
  };
  REQUIRE(of("rise") == std::vector<std::string>{"fall"});
  REQUIRE(of("go up").empty());
  REQUIRE(of("tall") == std::vector<std::string>{"short"});
  REQUIRE(of("short") == std::vector<std::string>{"tall"});
  REQUIRE(of("low").empty());
  REQUIRE(of("well") == std::vector<std::string>{"badly"});
}

TEST_CASE_METHOD(Fixture, "what is not in WordNet's form is refused by file and line") {
  Refuses("index.noun", "dog n 2 x\n", "'x' is no number");
  Refuses("index.noun", "dog n 2 70000 @\n", "'70000' is no number");
  Refuses("index.noun", "dog n 2 9 @ ~ 2 2\n", "ends too early");
  Refuses("cntlist.rev", "run 1 2\n", "is of no kind");
  Refuses("cntlist.rev", "run%9:1 1 2\n", "is of no kind");
  Refuses("verb.exc", "ran\n", "names no word");
  Refuses("data.adj", "00000013 00 a 01 tall 0 001 ! 00000014 a 0101\n", "no word 1 at 00000014");
  Refuses("data.adj", "00000013 00 a 01 tall 0 001 ! 00000013 a 0201\n", "has no word 2");
  Refuses("data.adj", "00000013 00 a FFFFF tall 0\n", "'FFFFF' is no number");
  Refuses("data.adj", "00000013 00 a FFFF tall 0\n", "ends too early");
  const absl::Status none = WordNet::Read(dir.File("none")).status();
  REQUIRE(absl::IsNotFound(none));
  REQUIRE_THAT(std::string(none.message()), Catch::Contains("wordnet-base"));
}

}  // namespace
}  // namespace sightline
