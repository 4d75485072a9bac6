#include "common/tokenizer/word_counter.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<std::string> TextsOf(const std::vector<CountedWord>& words) {
  std::vector<std::string> texts;
  for (const CountedWord& word : words) texts.push_back(absl::StrCat(word.text, ":", word.count));
  return texts;
}

TEST_CASE("words are counted, repetitions included") {
  WordCounter counts;
  for (const char* word : {"red", "fish", "red"}) REQUIRE(counts.Add(word).ok());
  REQUIRE(counts.total() == 3);
  REQUIRE(TextsOf(CountedWordsOf(counts)) == std::vector<std::string>{"fish:1", "red:2"});
}

TEST_CASE("a different word too many is refused, and is not counted; known ones still are") {
  WordCounter counts(/*max_bytes=*/1000);
  absl::Status status;
  int different = 0;
  while (status.ok() && different < 1000) {
    status = counts.Add(absl::StrCat("word", different));
    different += status.ok();
  }
  REQUIRE(absl::IsResourceExhausted(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains(absl::StrCat("more than ", different, " different words")));
  REQUIRE(counts.total() == different);
  REQUIRE(counts.Add("word0").ok());
  REQUIRE(absl::IsResourceExhausted(counts.Add("another")));
  REQUIRE(counts.total() == different + 1);
  REQUIRE(CountedWordsOf(counts).size() == different);
}

TEST_CASE("the most frequent words are those that fit, ties bytewise, in bytewise order") {
  const std::vector<CountedWord> words = {{"bb", 2}, {"cc", 5}, {"aa", 2}, {"dd", 9}};
  REQUIRE(TextsOf(MostFrequentWords(words, 7)) == std::vector<std::string>{"aa:2", "cc:5", "dd:9"});
  REQUIRE(TextsOf(MostFrequentWords(words, 4)) == std::vector<std::string>{"cc:5", "dd:9"});
  REQUIRE(MostFrequentWords(words, 1).empty());
  REQUIRE(MostFrequentWords(words).size() == 4);
}

}  // namespace
}  // namespace sightline
