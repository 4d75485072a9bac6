#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

// An adjective: masculine and feminine, singular and plural.
using Forms = absl::string_view[4];

constexpr absl::string_view kNumbers[] = {"", "", "dos", "tres", "cuatro"};
constexpr Forms kOnly = {"solo", "sola", "solos", "solas"};
constexpr Forms kSizes[] = {{"pequeño", "pequeña", "pequeños", "pequeñas"},
                            {"mediano", "mediana", "medianos", "medianas"},
                            {"grande", "grande", "grandes", "grandes"}};
constexpr Forms kTints[] = {{"rojo", "roja", "rojos", "rojas"},
                            {"naranja", "naranja", "naranjas", "naranjas"},
                            {"amarillo", "amarilla", "amarillos", "amarillas"},
                            {"verde", "verde", "verdes", "verdes"},
                            {"azul", "azul", "azules", "azules"},
                            {"morado", "morada", "morados", "moradas"},
                            {"rosa", "rosa", "rosas", "rosas"},
                            {"marrón", "marrón", "marrones", "marrones"}};
constexpr absl::string_view kRelations[] = {"a la izquierda de", "a la derecha de", "por encima de",
                                            "por debajo de", "delante de"};

const Noun& NounOf(const ObjectClaim& object) {
  return Nouns()[object.noun];
}
bool IsFeminine(const ObjectClaim& object) {
  return NounOf(object).spanish.gender == Gender::kFeminine;
}

absl::string_view Agreeing(const Forms& forms, const ObjectClaim& object) {
  return forms[(IsFeminine(object) ? 1 : 0) + (object.count > 1 ? 2 : 0)];
}

absl::string_view NounForm(const ObjectClaim& object) {
  const auto& noun = NounOf(object).spanish;
  return object.count == 1 ? noun.singular : noun.plural;
}

absl::string_view Relation(const SceneFact& fact) {
  return kRelations[static_cast<int>(fact.relation)];
}

// "una manzana roja pequeña", "un águila", "una sola águila", "dos gatos verdes".
std::string Phrase(const ObjectClaim& object) {
  std::string words(kNumbers[object.count]);
  if (object.count == 1) {
    const bool feminine =
        IsFeminine(object) && (object.counted || !NounOf(object).spanish.stressed_a);
    words = feminine ? "una" : "un";
    if (object.counted) absl::StrAppend(&words, " ", Agreeing(kOnly, object));
  }
  absl::StrAppend(&words, " ", NounForm(object));
  if (object.tint) {
    absl::StrAppend(&words, " ", Agreeing(kTints[static_cast<int>(*object.tint)], object));
  }
  if (object.size) {
    absl::StrAppend(&words, " ", Agreeing(kSizes[static_cast<int>(*object.size)], object));
  }
  return words;
}

// "por debajo de las manzanas", "delante del perro"; every relation ends with "de".
std::string WhereDefinite(const SceneFact& fact, const ObjectClaim& object) {
  const bool feminine = IsFeminine(object);
  absl::string_view article = feminine ? " las " : " los ";
  if (object.count == 1) {
    article = feminine && !NounOf(object).spanish.stressed_a ? " la " : "l ";
  }
  return absl::StrCat(Relation(fact), article, NounForm(object));
}

// ", con un árbol verde por debajo de las manzanas y la palabra "OPEN"", or less, or nothing.
std::string Tail(const SceneClaim& claim) {
  std::string tail;
  if (claim.objects.size() > 2) {
    const bool related = claim.relations.size() > 1;
    absl::StrAppend(&tail, related ? ", con " : ", junto con ", Phrase(claim.objects[2]));
    if (related) {
      const SceneFact& fact = claim.relations[1];
      absl::StrAppend(&tail, " ", WhereDefinite(fact, claim.objects[fact.object]));
    }
  }
  if (!claim.word.empty()) {
    absl::StrAppend(&tail, tail.empty() ? ", con" : " y", " la palabra \"", claim.word, "\"");
  }
  return tail;
}

std::string Sentence(const SceneClaim& claim, CaptionFrame frame) {
  const ObjectClaim& first = claim.objects[0];
  const std::string a = Phrase(first);
  const std::string where =
      absl::StrCat(Relation(claim.relations[0]), " ", Phrase(claim.objects[1]));
  const bool one = first.count == 1;
  switch (frame) {
    case CaptionFrame::kNoun:
      return absl::StrCat(a, " ", where);
    case CaptionFrame::kThere:
      return absl::StrCat("hay ", a, " ", where);
    case CaptionFrame::kFronted:
      return absl::StrCat(where, " hay ", a);
    case CaptionFrame::kPicture:
      return absl::StrCat("una imagen de ", a, " ", where);
    case CaptionFrame::kCopula:
      return absl::StrCat(a, one ? " está " : " están ", where);
    case CaptionFrame::kSee:
      break;
  }
  return absl::StrCat(one ? "se ve " : "se ven ", a, " ", where);
}

}  // namespace

std::string SayInSpanish(const SceneClaim& claim, CaptionFrame frame) {
  return Capitalized(absl::StrCat(Sentence(claim, frame), Tail(claim), "."));
}

}  // namespace sightline
