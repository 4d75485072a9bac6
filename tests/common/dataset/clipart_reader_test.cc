#include "common/dataset/clipart_reader.h"

#include "common/formats/xml.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<std::string>;

std::string Svg(const std::string& title, const std::vector<std::string>& keywords = {}) {
  std::string bag;
  for (const std::string& keyword : keywords) bag += "<rdf:li>" + keyword + "</rdf:li>";
  return "<svg><metadata><rdf:RDF><cc:Work rdf:about=\"\"><dc:creator><cc:Agent><dc:title>Alex"
         "</dc:title></cc:Agent></dc:creator><dc:title>" +
         title + "</dc:title><dc:subject><rdf:Bag>" + bag +
         "</rdf:Bag></dc:subject></cc:Work></rdf:RDF></metadata></svg>";
}

ClipArtOptions At(const Tree& tree) {
  ClipArtOptions options;
  options.png_root = tree.Path("png");
  options.svg_root = tree.Path("svg");
  return options;
}

TEST_CASE("title and keywords come from the work, not from its makers") {
  Tree tree;
  tree.Put("a.svg", Svg("Baby &amp; Tux", {"penguin", "tux"}));
  const auto text = ReadClipArtText(tree.Path("a.svg"));
  REQUIRE(text.ok());
  REQUIRE(text->title == "Baby & Tux");
  REQUIRE(text->keywords == std::vector<std::string>{"penguin", "tux"});

  tree.Put("plain.svg", "<svg><title>not metadata</title></svg>");
  REQUIRE(ReadClipArtText(tree.Path("plain.svg"))->title == "");
}

TEST_CASE("a clip art is a PNG with an SVG of the same path") {
  Tree tree;
  tree.Put("png/birds/tux.png", "1");
  tree.Put("svg/birds/tux.svg", Svg("Baby Tux", {"penguin", "unsorted"}));
  tree.Put("png/alone.png", "2");
  tree.Put("svg/other.svg", Svg("Other"));
  const auto reader = NewClipArtReader(At(tree));
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"clipart/birds/tux"});
  REQUIRE(CaptionsOf(listing->items[0]) == "en:baby tux|en:penguin");
  REQUIRE(listing->items[0].tags == std::vector<std::string>{"penguin"});
  REQUIRE(*reader->ReadPicture(listing->items[0], 9) == "1");

  ClipArtOptions german = At(tree);
  german.languages = {"de"};
  REQUIRE(NewClipArtReader(german)->List()->items[0].captions.empty());
}

TEST_CASE("titles of a collection make no captions, wherever its pictures lie") {
  Tree tree;
  for (int i = 0; i < 6; ++i) {
    const std::string path = std::string(1, static_cast<char>('a' + i)) + "/x";
    tree.Put("png/" + path + ".png", "1");
    tree.Put("svg/" + path + ".svg", Svg("gramastar", {"stars"}));
  }
  tree.Put("png/z.png", "1");
  tree.Put("svg/z.svg", Svg("a lone star", {"stars"}));
  const auto listing = NewClipArtReader(At(tree))->List();
  REQUIRE(listing.ok());
  REQUIRE(listing->items.size() == 7);
  for (int i = 0; i < 6; ++i) REQUIRE(listing->items[i].captions.empty());
  REQUIRE(CaptionsOf(listing->items[6]) == "en:a lone star|en:stars");
}

TEST_CASE("broken, huge, deep and hostile SVGs cost a picture its captions, no more") {
  std::string deep = "<svg>";
  for (int i = 0; i < 200000; ++i) deep += "<g>";
  const std::vector<std::string> broken = {"", "<svg><metadata>", "no xml at all", deep,
                                           "<svg>" + std::string(kMaxXmlBytes, ' ') + "</svg>"};
  for (const std::string& svg : broken) {
    CAPTURE(svg.substr(0, 40));
    Tree tree;
    tree.Put("png/a.png", "1");
    tree.Put("svg/a.svg", svg);
    const auto listing = NewClipArtReader(At(tree))->List();
    REQUIRE(listing.ok());
    REQUIRE(listing->items.size() == 1);
    REQUIRE(listing->items[0].captions.empty());
    REQUIRE(listing->warnings.size() == 1);
    REQUIRE(listing->warnings[0].item_id == "clipart/a");
  }
}

TEST_CASE("entities of a DTD are not expanded, bad bytes and endless titles are no captions") {
  Tree tree;
  tree.Put("svg/bomb.svg",
           "<!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">"
           "<!ENTITY c SYSTEM \"file:///etc/passwd\">]>" +
               Svg("x &b; &c; y"));
  tree.Put("svg/bytes.svg", Svg("caf\xe9 noir"));
  tree.Put("svg/long.svg", Svg(std::string(100000, 'x')));
  REQUIRE(ReadClipArtText(tree.Path("svg/bomb.svg"))->title == "x &b; &c; y");
  REQUIRE(ReadClipArtText(tree.Path("svg/bytes.svg"))->title == "");
  REQUIRE(ReadClipArtText(tree.Path("svg/long.svg"))->title == "");

  std::string closed = "<svg>";
  for (int i = 0; i < 100000; ++i) closed += "<g>";
  for (int i = 0; i < 100000; ++i) closed += "</g>";
  tree.Put("svg/deep.svg", closed + "</svg>");
  REQUIRE(ReadClipArtText(tree.Path("svg/deep.svg")).ok());
}

TEST_CASE("a missing tree is an error that names it") {
  Tree tree;
  tree.Put("png/a.png", "1");
  const absl::Status status = NewClipArtReader(At(tree))->List().status();
  REQUIRE(absl::IsNotFound(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains(tree.Path("svg")));
}

}  // namespace
}  // namespace sightline
