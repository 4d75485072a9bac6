#include "common/dataset/function_words.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("words of closed classes are function words, and others are none") {
  for (const char* word : {"a", "the", "behind", "towards", "which", "would", "three", "ten"}) {
    CAPTURE(word);
    REQUIRE(IsFunctionWord(word));
  }
  for (const char* word : {"", "bus", "red", "stop", "eleven", "24", "th", "The"}) {
    CAPTURE(word);
    REQUIRE(!IsFunctionWord(word));
  }
}

}  // namespace
}  // namespace sightline
