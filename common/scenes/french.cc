#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

// An adjective: masculine and feminine, singular and plural.
using Forms = absl::string_view[4];

constexpr absl::string_view kNumbers[] = {"", "", "deux", "trois", "quatre"};
constexpr Forms kOnly = {"seul", "seule", "seuls", "seules"};
constexpr Forms kSmall = {"petit", "petite", "petits", "petites"};
constexpr Forms kLarge = {"grand", "grande", "grands", "grandes"};
constexpr Forms kTints[] = {
    {"rouge", "rouge", "rouges", "rouges"}, {"orange", "orange", "orange", "orange"},
    {"jaune", "jaune", "jaunes", "jaunes"}, {"vert", "verte", "verts", "vertes"},
    {"bleu", "bleue", "bleus", "bleues"},   {"violet", "violette", "violets", "violettes"},
    {"rose", "rose", "roses", "roses"},     {"marron", "marron", "marron", "marron"}};
// What goes with "de" ends with it.
constexpr absl::string_view kRelations[] = {"à gauche de", "à droite de", "au-dessus de",
                                            "en dessous de", "devant"};

const Noun& NounOf(const ObjectClaim& object) {
  return Nouns()[object.noun];
}
bool IsFeminine(const ObjectClaim& object) {
  return NounOf(object).french.gender == Gender::kFeminine;
}

absl::string_view Agreeing(const Forms& forms, const ObjectClaim& object) {
  return forms[(IsFeminine(object) ? 1 : 0) + (object.count > 1 ? 2 : 0)];
}

absl::string_view NounForm(const ObjectClaim& object) {
  const auto& noun = NounOf(object).french;
  return object.count == 1 ? noun.singular : noun.plural;
}

// Whether "le" and "de" lose their vowel before the noun.
bool Elides(const ObjectClaim& object) {
  const absl::string_view noun = NounForm(object);
  if (noun[0] == 'h') return !NounOf(object).french.aspirated;
  for (const absl::string_view vowel : {"a", "e", "i", "o", "u", "â", "é", "è", "ê", "î", "œ"}) {
    if (absl::StartsWith(noun, vowel)) return true;
  }
  return false;
}

// "une petite pomme rouge", "un seul chien", "deux chats verts de taille moyenne".
std::string Phrase(const ObjectClaim& object) {
  std::string words(kNumbers[object.count]);
  if (object.count == 1) words = IsFeminine(object) ? "une" : "un";
  if (object.count == 1 && object.counted) {
    absl::StrAppend(&words, " ", Agreeing(kOnly, object));
  }
  if (object.size == SceneSize::kSmall) absl::StrAppend(&words, " ", Agreeing(kSmall, object));
  if (object.size == SceneSize::kLarge) absl::StrAppend(&words, " ", Agreeing(kLarge, object));
  absl::StrAppend(&words, " ", NounForm(object));
  if (object.tint) {
    absl::StrAppend(&words, " ", Agreeing(kTints[static_cast<int>(*object.tint)], object));
  }
  if (object.size == SceneSize::kMedium) absl::StrAppend(&words, " de taille moyenne");
  return words;
}

// "à gauche d'un chien", "devant deux chiens".
std::string Where(const SceneFact& fact, const ObjectClaim& object) {
  absl::string_view relation = kRelations[static_cast<int>(fact.relation)];
  if (object.count == 1 && absl::EndsWith(relation, " de")) {
    relation.remove_suffix(1);
    return absl::StrCat(relation, "'", Phrase(object));
  }
  return absl::StrCat(relation, " ", Phrase(object));
}

// "à gauche du chien", "au-dessus de l'arbre", "devant les chiens".
std::string WhereDefinite(const SceneFact& fact, const ObjectClaim& object) {
  absl::string_view relation = kRelations[static_cast<int>(fact.relation)];
  const bool with_de = absl::EndsWith(relation, " de");
  if (with_de) relation.remove_suffix(3);
  absl::string_view article;
  if (object.count > 1) {
    article = with_de ? "des " : "les ";
  } else if (Elides(object)) {
    article = with_de ? "de l'" : "l'";
  } else if (IsFeminine(object)) {
    article = with_de ? "de la " : "la ";
  } else {
    article = with_de ? "du " : "le ";
  }
  return absl::StrCat(relation, " ", article, NounForm(object));
}

// ", avec un arbre vert en dessous des pommes et le mot "OPEN"", or less, or nothing.
std::string Tail(const SceneClaim& claim) {
  std::string tail;
  if (claim.objects.size() > 2) {
    const bool related = claim.relations.size() > 1;
    absl::StrAppend(&tail, related ? ", avec " : ", ainsi que ", Phrase(claim.objects[2]));
    if (related) {
      const SceneFact& fact = claim.relations[1];
      absl::StrAppend(&tail, " ", WhereDefinite(fact, claim.objects[fact.object]));
    }
  }
  if (!claim.word.empty()) {
    absl::StrAppend(&tail, tail.empty() ? ", avec" : " et", " le mot \"", claim.word, "\"");
  }
  return tail;
}

std::string Sentence(const SceneClaim& claim, CaptionFrame frame) {
  const ObjectClaim& first = claim.objects[0];
  const std::string a = Phrase(first);
  const std::string where = Where(claim.relations[0], claim.objects[1]);
  const bool one = first.count == 1;
  switch (frame) {
    case CaptionFrame::kNoun:
      return absl::StrCat(a, " ", where);
    case CaptionFrame::kThere:
      return absl::StrCat("il y a ", a, " ", where);
    case CaptionFrame::kFronted:
      return absl::StrCat(where, ", il y a ", a);
    case CaptionFrame::kPicture:
      return absl::StrCat("une image ", one ? "d'" : "de ", a, " ", where);
    case CaptionFrame::kCopula:
      return absl::StrCat(a, one ? " se trouve " : " se trouvent ", where);
    case CaptionFrame::kSee:
      break;
  }
  return absl::StrCat("on voit ", a, " ", where);
}

}  // namespace

std::string SayInFrench(const SceneClaim& claim, CaptionFrame frame) {
  return Capitalized(absl::StrCat(Sentence(claim, frame), Tail(claim), "."));
}

}  // namespace sightline
