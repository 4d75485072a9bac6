#include "common/dataset/folder_reader.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<std::string>;

FolderOptions At(const Tree& tree) {
  FolderOptions options;
  options.root = tree.root();
  return options;
}

absl::StatusOr<CorpusListing> ListWith(Tree& tree, const std::string& captions) {
  tree.Put("captions.jsonl", captions);
  return NewFolderReader(At(tree))->List();
}

TEST_CASE("every visible file of a folder is an item, by relative path") {
  Tree tree;
  tree.Put("b.png", "1");
  tree.Put("a/c.jpeg", "2");
  tree.Put("notes.txt", "3");
  tree.Put("no_ending", "4");
  tree.Put(".hidden.png", "5");
  tree.Put("a/.thumbnails/x.png", "6");
  const auto reader = NewFolderReader(At(tree));
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"a/c.jpeg", "b.png", "no_ending", "notes.txt"});
  REQUIRE(listing->items[0].path == tree.Path("a/c.jpeg"));
  REQUIRE(listing->items[0].captions.empty());
  REQUIRE(*reader->ReadPicture(listing->items[0], 100) == "2");
  REQUIRE(absl::IsInvalidArgument(reader->ReadPicture(listing->items[0], 0).status()));
}

TEST_CASE("links to files are items, and loops of folders end") {
  Tree tree;
  tree.Put("a/x.png", "1");
  tree.Link(tree.root(), "a/loop");
  tree.Link("x.png", "a/y.png");
  tree.Link("nowhere", "a/dangling.png");
  const auto listing = NewFolderReader(At(tree))->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"a/x.png", "a/y.png"});
}

TEST_CASE("what is no file is rejected with the reason, once each and in the order of paths") {
  Tree tree;
  tree.Put("a/x.png", "1");
  tree.Put("z.png", "2");
  tree.Link("a", "b");
  tree.Link("nowhere", "m.png");
  REQUIRE(::mkfifo(JoinPath(tree.root(), "n.png").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(JoinPath(tree.root(), ".hidden").c_str(), 0600) == 0);
  FolderOptions options = At(tree);
  options.id_prefix = "p/";
  const auto listing = NewFolderReader(options)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"p/a/x.png", "p/z.png"});
  REQUIRE(listing->rejected.size() == 3);
  REQUIRE(listing->rejected[0].item_id == "p/b");
  REQUIRE(listing->rejected[0].reason == "is a link to a folder, which is not entered");
  REQUIRE(listing->rejected[1].item_id == "p/m.png");
  REQUIRE(listing->rejected[1].reason == "is a link that leads nowhere");
  REQUIRE(listing->rejected[2].item_id == "p/n.png");
  REQUIRE(listing->rejected[2].reason == "is no regular file");
}

TEST_CASE("a file name that is no text is rejected by a name that can be printed") {
  Tree tree;
  tree.Put("caf\xe9.png", "1");
  tree.Put("good.png", "2");
  const auto listing = NewFolderReader(At(tree))->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"good.png"});
  REQUIRE(listing->rejected.size() == 1);
  REQUIRE(listing->rejected[0].item_id == "caf\\xe9.png");
}

TEST_CASE("captions, ids and tags come from a file of JSON lines") {
  Tree tree;
  tree.Put("a.png", "1");
  tree.Put("b.png", "2");
  tree.Put("c.png", "3");
  const std::string captions =
      "\xEF\xBB\xBF{\"path\": \"a.png\", \"captions\": [\"a  red fish\", \"second\"], \"extra\": "
      "1}\r\n"
      "\r\n"
      "{\"path\": \"./b.png\", \"id\": \"bee\", \"tags\": [\"pet\"],"
      " \"captions\": [{\"language\": \"de\", \"text\": \"ein Hund\"}, \"a dog\"]}\n";
  const auto listing = ListWith(tree, captions);
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"a.png", "bee", "c.png"});
  REQUIRE(CaptionsOf(listing->items[0]) == "en:a red fish|en:second");
  REQUIRE(CaptionsOf(listing->items[1]) == "en:a dog");
  REQUIRE(listing->items[1].tags == std::vector<std::string>{"pet"});
  REQUIRE(listing->items[2].captions.empty());

  FolderOptions options = At(tree);
  options.languages = {};
  options.id_prefix = "mine/";
  const auto all = NewFolderReader(options)->List();
  REQUIRE(CaptionsOf(all->items[1]) == "de:ein Hund|en:a dog");
  REQUIRE(all->items[1].item_id == "mine/bee");
}

TEST_CASE("the caption file may lie elsewhere, and is no item where it lies inside") {
  Tree tree, other;
  tree.Put("a.png", "1");
  other.Put("lines.json", "{\"path\": \"a.png\", \"captions\": [\"hello\"]}");
  FolderOptions options = At(tree);
  options.captions_file = other.Path("lines.json");
  auto listing = NewFolderReader(options)->List();
  REQUIRE(listing.ok());
  REQUIRE(CaptionsOf(listing->items.at(0)) == "en:hello");

  tree.Put("sub/lines.json", "{\"path\": \"a.png\"}");
  options.captions_file = tree.root() + "/./sub/../sub/lines.json";
  listing = NewFolderReader(options)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == Ids{"a.png"});

  options.captions_file = tree.Path("none.jsonl");
  REQUIRE(absl::IsNotFound(NewFolderReader(options)->List().status()));
}

TEST_CASE("bad caption lines are named by number, all in one message") {
  Tree tree;
  tree.Put("a.png", "1");
  tree.Put("b.png", "1");
  struct Case {
    std::string line, message;
  };
  const std::vector<Case> cases = {
      {"{\"path\": \"a.png\"", "not valid JSON"},
      {"[1]", "must be a JSON object, not array"},
      {"{\"captions\": []}", "\"path\" is missing"},
      {"{\"path\": 3}", "\"path\" must be a string, not number"},
      {"{\"path\": \"../a.png\"}", "is no file below"},
      {"{\"path\": \"/etc/passwd\"}", "is no file below"},
      {"{\"path\": \"none.png\"}", "\"none.png\" is no file below"},
      {"{\"path\": \"b.png\"}", "has a line already"},
      {"{\"path\": \"a.png\", \"captions\": \"x\"}", "\"captions\" must be an array, not string"},
      {"{\"path\": \"a.png\", \"captions\": [3]}", "a caption must be a string, not number"},
      {"{\"path\": \"a.png\", \"captions\": [\" \"]}", "a caption is empty"},
      {"{\"path\": \"a.png\", \"captions\": [{\"text\": \"x\"}]}",
       "needs \"language\" and \"text\""},
      {"{\"path\": \"a.png\", \"tags\": [null]}", "a tag must be a string, not null"},
      {"{\"path\": \"a.png\", \"id\": \"\"}", "an item id is empty"},
      {"{\"path\": \"\xff\"}", "not valid UTF-8"},
      {std::string(100000, '['), "not valid JSON"},
      {"{\"path\": \"a.png\", \"x\": \"" + std::string(1 << 20, 'x') + "\"}",
       "the limit is 1048576"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    const auto listing = ListWith(tree, "{\"path\": \"b.png\"}\n" + c.line + "\n");
    REQUIRE(absl::IsInvalidArgument(listing.status()));
    REQUIRE_THAT(std::string(listing.status().message()), Catch::Contains("line 2: "));
    REQUIRE_THAT(std::string(listing.status().message()), Catch::Contains(c.message));
  }
  const auto both = ListWith(tree, "3\n\n{\"path\": \"a.png\"}\n4\n");
  REQUIRE_THAT(std::string(both.status().message()),
               Catch::Contains("line 1: ") && Catch::Contains("line 4: "));
  std::string many;
  for (int i = 0; i < 50; ++i) many += "3\n";
  const auto capped = ListWith(tree, many);
  REQUIRE_THAT(std::string(capped.status().message()), Catch::Contains("line 10: ") &&
                                                           Catch::Contains("and perhaps more") &&
                                                           !Catch::Contains("line 11"));
}

TEST_CASE("two lines that give one id leave one item") {
  Tree tree;
  tree.Put("a.png", "1");
  tree.Put("b.png", "2");
  const auto listing = ListWith(
      tree, "{\"path\": \"a.png\", \"id\": \"x\"}\n{\"path\": \"b.png\", \"id\": \"x\"}\n");
  REQUIRE(listing.ok());
  REQUIRE(listing->items.size() == 1);
  REQUIRE(listing->items[0].path == tree.Path("a.png"));
  REQUIRE(listing->rejected.size() == 1);
  REQUIRE(listing->rejected[0].path == tree.Path("b.png"));
}

TEST_CASE("a folder that is not there is an error") {
  FolderOptions options;
  options.root = "/nonexistent/folder";
  const absl::Status status = NewFolderReader(options)->List().status();
  REQUIRE(absl::IsNotFound(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("/nonexistent/folder"));
}

TEST_CASE("a line may say which split its file is in") {
  Tree tree;
  for (const char* name : {"a", "b", "c"}) tree.Put(name, "1");
  const auto listing = ListWith(tree,
                                "{\"path\": \"a\", \"split\": \"held_out\"}\n"
                                "{\"path\": \"b\", \"split\": \"train\"}\n");
  REQUIRE(listing.ok());
  REQUIRE(listing->items[0].split == Split::kHeldOut);
  REQUIRE(listing->items[1].split == Split::kTrain);
  REQUIRE(!listing->items[2].split.has_value());
  for (const char* split : {"\"test\"", "3"}) {
    const absl::Status status =
        ListWith(tree, absl::StrCat("{\"path\": \"a\", \"split\": ", split, "}")).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains("line 1: "));
  }
}

TEST_CASE("a line may say which place its file has in the published order") {
  Tree tree;
  tree.Put("a", "1");
  const auto line = [&](const std::string& place) {
    return ListWith(tree, absl::StrCat("{\"path\": \"a\", \"place\": ", place, "}"));
  };
  REQUIRE(line("17")->items[0].published_place == 17);
  for (const char* place : {"-1", "1.5", "\"1\"", "9007199254740993", "18446744073709551615"}) {
    REQUIRE_THAT(std::string(line(place).status().message()),
                 Catch::Contains("\"place\" is no whole number"));
  }
}

}  // namespace
}  // namespace sightline
