#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

// All that captions need: they name what is there in the nominative, and where it is, or what
// they are a picture of, in the dative.
enum class Case { kNominative, kDative };

constexpr absl::string_view kNumbers[] = {"", "", "zwei", "drei", "vier"};
constexpr absl::string_view kSizes[] = {"klein", "mittelgroß", "groß"};
constexpr absl::string_view kTints[] = {"rot",  "orangefarben", "gelb",       "grün",
                                        "blau", "violett",      "rosafarben", "braun"};
constexpr absl::string_view kRelations[] = {"links von", "rechts von", "über", "unter", "vor"};

const Noun& NounOf(const ObjectClaim& object) {
  return Nouns()[object.noun];
}

absl::string_view Relation(const SceneFact& fact) {
  return kRelations[static_cast<int>(fact.relation)];
}

absl::string_view Article(Gender gender, Case form) {
  if (form == Case::kDative) return gender == Gender::kFeminine ? "einer" : "einem";
  return gender == Gender::kFeminine ? "eine" : "ein";
}

// The ending of an adjective behind "ein", or without an article in the plural.
absl::string_view Ending(const ObjectClaim& object, Case form) {
  if (form == Case::kDative) return "en";
  if (object.count > 1) return "e";
  switch (NounOf(object).german.gender) {
    case Gender::kMasculine:
      return "er";
    case Gender::kFeminine:
      return "e";
    case Gender::kNeuter:
      break;
  }
  return "es";
}

std::string NounForm(const ObjectClaim& object, Case form) {
  const auto& noun = NounOf(object).german;
  const bool dative = form == Case::kDative;
  if (object.count == 1) {
    return std::string(dative && !noun.dative.empty() ? noun.dative : noun.singular);
  }
  const bool adds_n =
      dative && !absl::EndsWith(noun.plural, "n") && !absl::EndsWith(noun.plural, "s");
  return absl::StrCat(noun.plural, adds_n ? "n" : "");
}

// "ein kleiner roter Apfel", "einem einzelnen Hund", "drei Hunden".
std::string Phrase(const ObjectClaim& object, Case form) {
  const absl::string_view ending = Ending(object, form);
  std::string words(object.count == 1 ? Article(NounOf(object).german.gender, form)
                                      : kNumbers[object.count]);
  if (object.count == 1 && object.counted) absl::StrAppend(&words, " einzeln", ending);
  if (object.size) {
    absl::StrAppend(&words, " ", kSizes[static_cast<int>(*object.size)], ending);
  }
  if (object.tint) {
    absl::StrAppend(&words, " ", kTints[static_cast<int>(*object.tint)], ending);
  }
  return absl::StrCat(words, " ", NounForm(object, form));
}

// "den Hunden"
std::string DefiniteDative(const ObjectClaim& object) {
  const bool feminine = NounOf(object).german.gender == Gender::kFeminine;
  const absl::string_view article = object.count > 1 ? "den" : feminine ? "der" : "dem";
  return absl::StrCat(article, " ", NounForm(object, Case::kDative));
}

// ", dazu ein grüner Baum unter den Äpfeln und das Wort "OPEN"", or less, or nothing.
std::string Tail(const SceneClaim& claim) {
  std::string tail;
  if (claim.objects.size() > 2) {
    absl::StrAppend(&tail, ", dazu ", Phrase(claim.objects[2], Case::kNominative));
    if (claim.relations.size() > 1) {
      const SceneFact& fact = claim.relations[1];
      absl::StrAppend(&tail, " ", Relation(fact), " ", DefiniteDative(claim.objects[fact.object]));
    }
  }
  if (!claim.word.empty()) {
    absl::StrAppend(&tail, tail.empty() ? ", dazu" : " und", " das Wort \"", claim.word, "\"");
  }
  return tail;
}

std::string Sentence(const SceneClaim& claim, CaptionFrame frame) {
  const ObjectClaim& first = claim.objects[0];
  const std::string a = Phrase(first, Case::kNominative);
  const std::string where =
      absl::StrCat(Relation(claim.relations[0]), " ", Phrase(claim.objects[1], Case::kDative));
  const bool one = first.count == 1;
  const absl::string_view is = one ? "ist" : "sind";
  switch (frame) {
    case CaptionFrame::kNoun:
      return absl::StrCat(a, " ", where);
    case CaptionFrame::kThere:
      return absl::StrCat("hier ", is, " ", a, " ", where);
    case CaptionFrame::kFronted:
      return absl::StrCat(where, " ", is, " ", a);
    case CaptionFrame::kPicture:
      return absl::StrCat("ein Bild von ", Phrase(first, Case::kDative), " ", where);
    case CaptionFrame::kCopula:
      return absl::StrCat(a, one ? " befindet" : " befinden", " sich ", where);
    case CaptionFrame::kSee:
      break;
  }
  return absl::StrCat("zu sehen ", is, " ", a, " ", where);
}

}  // namespace

std::string SayInGerman(const SceneClaim& claim, CaptionFrame frame) {
  return Capitalized(absl::StrCat(Sentence(claim, frame), Tail(claim), "."));
}

}  // namespace sightline
