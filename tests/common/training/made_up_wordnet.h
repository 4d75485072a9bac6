// A WordNet of a few words, for tests.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_WORDNET_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_WORDNET_H_

#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/training/wordnet.h"
#include "tests/support/catch.h"

namespace sightline {

// Written into `folder` and read: `nouns`, and the adjectives "big" and "red", of which "big" has
// an antonym, "blue".
inline WordNet MadeUpWordNet(const std::string& folder, const std::vector<std::string>& nouns) {
  REQUIRE(MakeDirectories(folder).ok());
  const auto put = [&](const std::string& name, const std::string& text) {
    REQUIRE(WriteFileAtomically(JoinPath(folder, name), text).ok());
  };
  std::string index;
  for (const std::string& noun : nouns) index += noun + " n 1 0 1 1 01\n";
  put("index.noun", index);
  put("index.adj", "big a 1 0 1 1 04\nred a 1 0 1 1 05\n");
  put("data.adj", "04 00 a 01 big 0 001 ! 05 a 0101 |\n05 00 a 01 blue 0 000 |\n");
  for (const char* name : {"cntlist.rev", "index.verb", "index.adv", "data.verb", "data.adv",
                           "noun.exc", "verb.exc", "adj.exc", "adv.exc"}) {
    put(name, "");
  }
  const auto read = WordNet::Read(folder);
  INFO(read.status());
  REQUIRE(read.ok());
  return *read;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_WORDNET_H_
