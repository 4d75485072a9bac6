#include "common/dataset/stamps_reader.h"

#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<std::string>;

std::string Captions(const std::string& text, const std::vector<std::string>& languages) {
  CorpusItem item;
  item.captions = ParseStampText(text, languages);
  return CaptionsOf(item);
}

TEST_CASE("the first line is English, the others name their language") {
  const std::string text =
      "A frog.\nde.utf8=Ein Frosch.\npt_BR.utf8=Um sapo.\nca@valencia.utf8=Una granota.\n";
  REQUIRE(Captions(text, {"en"}) == "en:A frog.");
  REQUIRE(Captions(text, {"de", "en"}) == "en:A frog.|de:Ein Frosch.");
  REQUIRE(Captions(text, {}) ==
          "en:A frog.|de:Ein Frosch.|pt_BR:Um sapo.|ca@valencia:Una granota.");
}

TEST_CASE("line ends of Windows, odd lines and bad bytes leave the rest alone") {
  REQUIRE(Captions("A cat.\r\nfr.utf8=Un chat.\r\n", {}) == "en:A cat.|fr:Un chat.");
  REQUIRE(Captions("A cat.\nde=Katze\n.utf8=x\nde.utf8=\nes.utf8=Gato\xff\nfr.utf8=Chat=chat",
                   {}) == "en:A cat.|fr:Chat=chat");
  REQUIRE(Captions("\nde.utf8=Nur deutsch", {}) == "de:Nur deutsch");
  REQUIRE(Captions("", {}) == "");
}

TEST_CASE("a stamp is a PNG with a text beside it") {
  Tree tree;
  tree.Put("animals/frog.png", "1");
  tree.Put("animals/frog.txt", "A frog.\nde.utf8=Ein Frosch.\n");
  tree.Put("animals/frog.ogg", "sound");
  tree.Put("animals/alone.png", "2");
  tree.Put("animals/vector.svg", "3");
  tree.Put("animals/vector.txt", "A vector.");
  StampsOptions options;
  options.root = tree.root();
  const auto reader = NewStampsReader(options);
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"stamps/animals/frog"});
  REQUIRE(CaptionsOf(listing->items[0]) == "en:A frog.");
  REQUIRE(*reader->ReadPicture(listing->items[0], 100) == "1");
}

TEST_CASE("a stamp whose text cannot be read is there without captions") {
  Tree tree;
  tree.Put("frog.png", "1");
  tree.Put("frog.txt", std::string((1 << 20) + 1, 'x'));
  StampsOptions options;
  options.root = tree.root();
  const auto listing = NewStampsReader(options)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"stamps/frog"});
  REQUIRE(listing->items[0].captions.empty());
  REQUIRE(listing->warnings.size() == 1);
  REQUIRE(listing->warnings[0].path == tree.Path("frog.txt"));
}

}  // namespace
}  // namespace sightline
