#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

constexpr absl::string_view kNumbers[] = {"", "one", "two", "three", "four"};
constexpr absl::string_view kSizes[] = {"small", "medium-sized", "large"};
constexpr absl::string_view kRelations[] = {"to the left of", "to the right of", "above", "below",
                                            "in front of"};

absl::string_view Relation(const SceneFact& fact) {
  return kRelations[static_cast<int>(fact.relation)];
}

// Whether "an" goes before it: by the letter, which among our words only "hourglass" belies.
bool SaysAn(absl::string_view words) {
  return absl::StartsWith(words, "hour") ||
         absl::string_view("aeiou").find(words[0]) != absl::string_view::npos;
}

// "a small red apple", "two dogs".
std::string Phrase(const ObjectClaim& object) {
  std::string words;
  if (object.size) absl::StrAppend(&words, kSizes[static_cast<int>(*object.size)], " ");
  if (object.tint) absl::StrAppend(&words, Name(*object.tint), " ");
  const Noun& noun = Nouns()[object.noun];
  absl::StrAppend(&words, object.count == 1 ? noun.singular : noun.plural);
  if (object.counted) return absl::StrCat(kNumbers[object.count], " ", words);
  return absl::StrCat(SaysAn(words) ? "an " : "a ", words);
}

// "the dogs"
std::string Definite(const ObjectClaim& object) {
  const Noun& noun = Nouns()[object.noun];
  return absl::StrCat("the ", object.count == 1 ? noun.singular : noun.plural);
}

// ", with a green fish below the dog and the word "OPEN"", or less, or nothing.
std::string Tail(const SceneClaim& claim) {
  std::string tail;
  if (claim.objects.size() > 2) {
    const bool related = claim.relations.size() > 1;
    absl::StrAppend(&tail, related ? ", with " : ", along with ", Phrase(claim.objects[2]));
    if (related) {
      const SceneFact& fact = claim.relations[1];
      absl::StrAppend(&tail, " ", Relation(fact), " ", Definite(claim.objects[fact.object]));
    }
  }
  if (!claim.word.empty()) {
    absl::StrAppend(&tail, tail.empty() ? ", with" : " and", " the word \"", claim.word, "\"");
  }
  return tail;
}

std::string Sentence(const SceneClaim& claim, CaptionFrame frame) {
  const std::string a = Phrase(claim.objects[0]);
  const std::string where =
      absl::StrCat(Relation(claim.relations[0]), " ", Phrase(claim.objects[1]));
  const absl::string_view is = claim.objects[0].count == 1 ? "is" : "are";
  switch (frame) {
    case CaptionFrame::kNoun:
      return absl::StrCat(a, " ", where);
    case CaptionFrame::kThere:
      return absl::StrCat("there ", is, " ", a, " ", where);
    case CaptionFrame::kFronted:
      return absl::StrCat(where, " there ", is, " ", a);
    case CaptionFrame::kPicture:
      return absl::StrCat("a picture of ", a, " ", where);
    case CaptionFrame::kCopula:
      return absl::StrCat(a, " ", is, " ", where);
    case CaptionFrame::kSee:
      break;
  }
  return absl::StrCat("you can see ", a, " ", where);
}

}  // namespace

std::string SayInEnglish(const SceneClaim& claim, CaptionFrame frame) {
  return Capitalized(absl::StrCat(Sentence(claim, frame), Tail(claim), "."));
}

}  // namespace sightline
