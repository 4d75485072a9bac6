// What the captions of Sightline Scenes are made of: nouns in four languages, and the words
// that are drawn in.  Tints, sizes and relations have words too; those are with each language's
// grammar.
//
// The order is part of the benchmark: scenes name nouns and words by their place here, and what
// is held out follows from it.
#ifndef SIGHTLINE_COMMON_SCENES_LEXICON_H_
#define SIGHTLINE_COMMON_SCENES_LEXICON_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/scenes/scene_graph.h"

namespace sightline {

enum class Gender : char { kMasculine = 'm', kFeminine = 'f', kNeuter = 'n' };

struct Noun {
  absl::string_view id;  // what files and the list of drawings call it
  int drawings;          // at least three; the last one is held out
  absl::string_view singular, plural;
  struct {
    Gender gender;
    absl::string_view singular, plural;
    absl::string_view dative;  // of the singular; empty: as the nominative
  } german;
  struct {
    Gender gender;
    absl::string_view singular, plural;
    bool aspirated = false;  // "le hibou", not "l'hibou"
  } french;
  struct {
    Gender gender;
    absl::string_view singular, plural;
    bool stressed_a = false;  // feminine, and yet "el águila"
  } spanish;
};

absl::Span<const Noun> Nouns();

// Three to eight letters from A to Z.
absl::Span<const absl::string_view> DrawnWords();

// The one tint that no drawing of the noun has but in pictures of new combinations.
SceneTint HeldOutTint(int noun);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_LEXICON_H_
