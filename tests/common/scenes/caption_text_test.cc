#include "common/scenes/caption_text.h"

#include "common/scenes/lexicon.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

int NounNamed(absl::string_view name) {
  for (size_t i = 0; i < Nouns().size(); ++i) {
    if (Nouns()[i].id == name) return static_cast<int>(i);
  }
  FAIL("no noun " << name);
  return -1;
}

ObjectClaim Object(absl::string_view noun, int count, absl::optional<SceneTint> tint = {},
                   absl::optional<SceneSize> size = {}) {
  ObjectClaim claim;
  claim.noun = NounNamed(noun);
  claim.count = count;
  claim.counted = count > 1;
  claim.tint = tint;
  claim.size = size;
  return claim;
}

ObjectClaim Counted(ObjectClaim object) {
  object.counted = true;
  return object;
}

SceneClaim Pair(const ObjectClaim& a, SceneRelation relation, const ObjectClaim& b) {
  SceneClaim claim;
  claim.objects = {a, b};
  claim.relations = {{0, relation, 1}};
  return claim;
}

// Two small red apples to the left of a dog.
SceneClaim Apples() {
  return Pair(Object("apple", 2, SceneTint::kRed, SceneSize::kSmall), SceneRelation::kLeftOf,
              Object("dog", 1));
}

// The same, with a green tree below the apples and "OPEN".
SceneClaim Tree() {
  SceneClaim claim = Apples();
  claim.objects.push_back(Object("tree", 1, SceneTint::kGreen));
  claim.relations.push_back({2, SceneRelation::kBelow, 0});
  claim.word = "OPEN";
  return claim;
}

TEST_CASE("English frames") {
  const auto say = [](CaptionFrame frame) { return SayInEnglish(Apples(), frame); };
  REQUIRE(say(CaptionFrame::kNoun) == "Two small red apples to the left of a dog.");
  REQUIRE(say(CaptionFrame::kThere) == "There are two small red apples to the left of a dog.");
  REQUIRE(say(CaptionFrame::kFronted) == "To the left of a dog there are two small red apples.");
  REQUIRE(say(CaptionFrame::kPicture) == "A picture of two small red apples to the left of a dog.");
  REQUIRE(say(CaptionFrame::kCopula) == "Two small red apples are to the left of a dog.");
  REQUIRE(say(CaptionFrame::kSee) == "You can see two small red apples to the left of a dog.");
}

TEST_CASE("English tails") {
  SceneClaim claim = Tree();
  REQUIRE(SayInEnglish(claim, CaptionFrame::kNoun) ==
          "Two small red apples to the left of a dog, with a green tree below the apples and the "
          "word \"OPEN\".");
  claim.word.clear();
  claim.relations.pop_back();
  REQUIRE(SayInEnglish(claim, CaptionFrame::kNoun) ==
          "Two small red apples to the left of a dog, along with a green tree.");
  claim = Apples();
  claim.word = "OPEN";
  REQUIRE(SayInEnglish(claim, CaptionFrame::kThere) ==
          "There are two small red apples to the left of a dog, with the word \"OPEN\".");
}

TEST_CASE("English articles and numbers") {
  const auto say = [](const ObjectClaim& a) {
    return SayInEnglish(Pair(a, SceneRelation::kInFrontOf, Object("dog", 4)),
                        CaptionFrame::kCopula);
  };
  REQUIRE(say(Object("apple", 1)) == "An apple is in front of four dogs.");
  REQUIRE(say(Object("apple", 1, SceneTint::kBlue)) == "A blue apple is in front of four dogs.");
  REQUIRE(say(Object("tree", 1, SceneTint::kOrange, SceneSize::kMedium)) ==
          "A medium-sized orange tree is in front of four dogs.");
  REQUIRE(say(Object("tree", 1, SceneTint::kOrange)) == "An orange tree is in front of four dogs.");
  REQUIRE(say(Counted(Object("apple", 1))) == "One apple is in front of four dogs.");
  REQUIRE(say(Object("hourglass", 1)) == "An hourglass is in front of four dogs.");
  REQUIRE(say(Object("USB stick", 1)) == "A USB stick is in front of four dogs.");
}

TEST_CASE("German frames: what is there is in the nominative, where it is in the dative") {
  const auto say = [](CaptionFrame frame) { return SayInGerman(Apples(), frame); };
  REQUIRE(say(CaptionFrame::kNoun) == "Zwei kleine rote Äpfel links von einem Hund.");
  REQUIRE(say(CaptionFrame::kThere) == "Hier sind zwei kleine rote Äpfel links von einem Hund.");
  REQUIRE(say(CaptionFrame::kFronted) == "Links von einem Hund sind zwei kleine rote Äpfel.");
  REQUIRE(say(CaptionFrame::kPicture) ==
          "Ein Bild von zwei kleinen roten Äpfeln links von einem Hund.");
  REQUIRE(say(CaptionFrame::kCopula) ==
          "Zwei kleine rote Äpfel befinden sich links von einem Hund.");
  REQUIRE(say(CaptionFrame::kSee) == "Zu sehen sind zwei kleine rote Äpfel links von einem Hund.");
}

TEST_CASE("German tails") {
  REQUIRE(SayInGerman(Tree(), CaptionFrame::kNoun) ==
          "Zwei kleine rote Äpfel links von einem Hund, dazu ein grüner Baum unter den Äpfeln "
          "und das Wort \"OPEN\".");
  SceneClaim claim = Apples();
  claim.word = "OPEN";
  REQUIRE(SayInGerman(claim, CaptionFrame::kThere) ==
          "Hier sind zwei kleine rote Äpfel links von einem Hund, dazu das Wort \"OPEN\".");
}

TEST_CASE("German genders, weak nouns and datives") {
  const auto say = [](const ObjectClaim& a, const ObjectClaim& b) {
    return SayInGerman(Pair(a, SceneRelation::kInFrontOf, b), CaptionFrame::kNoun);
  };
  REQUIRE(say(Object("cat", 1, SceneTint::kBlue, SceneSize::kLarge),
              Object("car", 1, SceneTint::kPink, SceneSize::kMedium)) ==
          "Eine große blaue Katze vor einem mittelgroßen rosafarbenen Auto.");
  REQUIRE(say(Object("car", 1, SceneTint::kOrange), Object("cat", 1, SceneTint::kPurple)) ==
          "Ein orangefarbenes Auto vor einer violetten Katze.");
  REQUIRE(say(Counted(Object("dog", 1, SceneTint::kRed)), Counted(Object("elephant", 1))) ==
          "Ein einzelner roter Hund vor einem einzelnen Elefanten.");
  REQUIRE(say(Object("lion", 1), Object("bear", 1)) == "Ein Löwe vor einem Bären.");
  REQUIRE(say(Object("lion", 3), Object("car", 2)) == "Drei Löwen vor zwei Autos.");
  REQUIRE(say(Object("car", 4), Object("dog", 3, SceneTint::kBrown)) ==
          "Vier Autos vor drei braunen Hunden.");
}

TEST_CASE("French frames") {
  const auto say = [](CaptionFrame frame) { return SayInFrench(Apples(), frame); };
  REQUIRE(say(CaptionFrame::kNoun) == "Deux petites pommes rouges à gauche d'un chien.");
  REQUIRE(say(CaptionFrame::kThere) == "Il y a deux petites pommes rouges à gauche d'un chien.");
  REQUIRE(say(CaptionFrame::kFronted) == "À gauche d'un chien, il y a deux petites pommes rouges.");
  REQUIRE(say(CaptionFrame::kPicture) ==
          "Une image de deux petites pommes rouges à gauche d'un chien.");
  REQUIRE(say(CaptionFrame::kCopula) ==
          "Deux petites pommes rouges se trouvent à gauche d'un chien.");
  REQUIRE(say(CaptionFrame::kSee) == "On voit deux petites pommes rouges à gauche d'un chien.");
}

TEST_CASE("French tails: articles run together, or lose their vowel") {
  REQUIRE(SayInFrench(Tree(), CaptionFrame::kNoun) ==
          "Deux petites pommes rouges à gauche d'un chien, avec un arbre vert en dessous des "
          "pommes et le mot \"OPEN\".");
  const auto tail = [](const ObjectClaim& b, SceneRelation relation) {
    SceneClaim claim = Pair(Object("dog", 1), SceneRelation::kLeftOf, b);
    claim.objects.push_back(Object("tree", 1));
    claim.relations.push_back({2, relation, 1});
    const std::string caption = SayInFrench(claim, CaptionFrame::kNoun);
    return caption.substr(caption.find("un arbre") + 9);
  };
  REQUIRE(tail(Object("cat", 1), SceneRelation::kAbove) == "au-dessus du chat.");
  REQUIRE(tail(Object("apple", 1), SceneRelation::kAbove) == "au-dessus de la pomme.");
  REQUIRE(tail(Object("elephant", 1), SceneRelation::kAbove) == "au-dessus de l'éléphant.");
  REQUIRE(tail(Object("owl", 1), SceneRelation::kAbove) == "au-dessus du hibou.");
  REQUIRE(tail(Object("hourglass", 2), SceneRelation::kAbove) == "au-dessus des sabliers.");
  REQUIRE(tail(Object("eye", 1), SceneRelation::kInFrontOf) == "devant l'œil.");
  REQUIRE(tail(Object("clock", 1), SceneRelation::kInFrontOf) == "devant l'horloge.");
  REQUIRE(tail(Object("cat", 3), SceneRelation::kInFrontOf) == "devant les chats.");
}

TEST_CASE("French adjectives agree, small and large ones go first") {
  const auto say = [](const ObjectClaim& a) {
    return SayInFrench(Pair(a, SceneRelation::kInFrontOf, Object("dog", 1)), CaptionFrame::kNoun);
  };
  REQUIRE(say(Object("car", 1, SceneTint::kPurple, SceneSize::kMedium)) ==
          "Une voiture violette de taille moyenne devant un chien.");
  REQUIRE(say(Object("car", 3, SceneTint::kBrown, SceneSize::kLarge)) ==
          "Trois grandes voitures marron devant un chien.");
  REQUIRE(say(Counted(Object("car", 1, SceneTint::kGreen, SceneSize::kSmall))) ==
          "Une seule petite voiture verte devant un chien.");
  REQUIRE(say(Object("cat", 2, SceneTint::kBlue)) == "Deux chats bleus devant un chien.");
}

TEST_CASE("Spanish frames") {
  const auto say = [](CaptionFrame frame) { return SayInSpanish(Apples(), frame); };
  REQUIRE(say(CaptionFrame::kNoun) == "Dos manzanas rojas pequeñas a la izquierda de un perro.");
  REQUIRE(say(CaptionFrame::kThere) ==
          "Hay dos manzanas rojas pequeñas a la izquierda de un perro.");
  REQUIRE(say(CaptionFrame::kFronted) ==
          "A la izquierda de un perro hay dos manzanas rojas pequeñas.");
  REQUIRE(say(CaptionFrame::kPicture) ==
          "Una imagen de dos manzanas rojas pequeñas a la izquierda de un perro.");
  REQUIRE(say(CaptionFrame::kCopula) ==
          "Dos manzanas rojas pequeñas están a la izquierda de un perro.");
  REQUIRE(say(CaptionFrame::kSee) ==
          "Se ven dos manzanas rojas pequeñas a la izquierda de un perro.");
}

TEST_CASE("Spanish tails and articles") {
  REQUIRE(SayInSpanish(Tree(), CaptionFrame::kNoun) ==
          "Dos manzanas rojas pequeñas a la izquierda de un perro, con un árbol verde por debajo "
          "de las manzanas y la palabra \"OPEN\".");
  const auto tail = [](const ObjectClaim& b) {
    SceneClaim claim = Pair(Object("dog", 1), SceneRelation::kLeftOf, b);
    claim.objects.push_back(Object("tree", 1));
    claim.relations.push_back({2, SceneRelation::kAbove, 1});
    const std::string caption = SayInSpanish(claim, CaptionFrame::kNoun);
    return caption.substr(caption.find("por encima"));
  };
  REQUIRE(tail(Object("cat", 1)) == "por encima del gato.");
  REQUIRE(tail(Object("apple", 1)) == "por encima de la manzana.");
  REQUIRE(tail(Object("eagle", 1)) == "por encima del águila.");
  REQUIRE(tail(Object("eagle", 2)) == "por encima de las águilas.");
  REQUIRE(tail(Object("cat", 2)) == "por encima de los gatos.");
}

TEST_CASE("Spanish adjectives agree, a stressed a changes the article alone") {
  const auto say = [](const ObjectClaim& a) {
    return SayInSpanish(Pair(a, SceneRelation::kInFrontOf, Object("dog", 1)), CaptionFrame::kNoun);
  };
  REQUIRE(say(Object("eagle", 1, SceneTint::kRed, SceneSize::kMedium)) ==
          "Un águila roja mediana delante de un perro.");
  REQUIRE(say(Counted(Object("eagle", 1))) == "Una sola águila delante de un perro.");
  REQUIRE(say(Counted(Object("cat", 1))) == "Un solo gato delante de un perro.");
  REQUIRE(say(Object("cat", 3, SceneTint::kBlue, SceneSize::kLarge)) ==
          "Tres gatos azules grandes delante de un perro.");
  REQUIRE(say(Object("apple", 2, SceneTint::kBrown)) ==
          "Dos manzanas marrones delante de un perro.");
}

// No form is empty, no two nouns are the same word, and nothing in a caption betrays a hole.
TEST_CASE("every noun has all its forms in every language") {
  for (int i = 0; i < static_cast<int>(Nouns().size()); ++i) {
    const Noun& noun = Nouns()[i];
    INFO(noun.id);
    REQUIRE(noun.drawings >= 3);
    for (const absl::string_view form :
         {noun.singular, noun.plural, noun.german.singular, noun.german.plural,
          noun.french.singular, noun.french.plural, noun.spanish.singular, noun.spanish.plural}) {
      REQUIRE_FALSE(form.empty());
    }
    REQUIRE(noun.french.gender != Gender::kNeuter);
    REQUIRE(noun.spanish.gender != Gender::kNeuter);
    REQUIRE((!noun.spanish.stressed_a || noun.spanish.gender == Gender::kFeminine));
    for (int j = 0; j < i; ++j) {
      REQUIRE(noun.id != Nouns()[j].id);
      REQUIRE(noun.singular != Nouns()[j].singular);
      REQUIRE(noun.german.singular != Nouns()[j].german.singular);
      REQUIRE(noun.french.singular != Nouns()[j].french.singular);
      REQUIRE(noun.spanish.singular != Nouns()[j].spanish.singular);
    }
  }
}

TEST_CASE("Say chooses the language") {
  const auto say = [](absl::string_view language) {
    return Say(language, Apples(), CaptionFrame::kNoun);
  };
  REQUIRE(say("en") == SayInEnglish(Apples(), CaptionFrame::kNoun));
  REQUIRE(say("de") == SayInGerman(Apples(), CaptionFrame::kNoun));
  REQUIRE(say("fr") == SayInFrench(Apples(), CaptionFrame::kNoun));
  REQUIRE(say("es") == SayInSpanish(Apples(), CaptionFrame::kNoun));
  REQUIRE(CaptionLanguages().size() == 4);
}

TEST_CASE("a sentence begins with a capital, in Latin-1 too") {
  REQUIRE(Capitalized("a dog") == "A dog");
  REQUIRE(Capitalized("über") == "Über");
  REQUIRE(Capitalized("à gauche") == "À gauche");
  REQUIRE(Capitalized("À gauche") == "À gauche");
}

}  // namespace
}  // namespace sightline
