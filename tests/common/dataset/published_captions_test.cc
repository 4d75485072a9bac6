#include "common/dataset/published_captions.h"

#include "tests/common/dataset/published_text.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("published splits are used for what they are for") {
  REQUIRE(!SplitOfPublished("")->has_value());
  REQUIRE(*SplitOfPublished("train") == Split::kTrain);
  REQUIRE(*SplitOfPublished("restval") == Split::kTrain);
  REQUIRE(*SplitOfPublished("val") == Split::kValidation);
  REQUIRE(*SplitOfPublished("test") == Split::kHeldOut);
  REQUIRE(*SplitOfPublished("test_2016_flickr") == Split::kHeldOut);
  REQUIRE_THAT(std::string(SplitOfPublished("Train").status().message()),
               Catch::Contains("the split is \"Train\""));
}

TEST_CASE("captions are in the order of their numbers, and the first ones of a language stay") {
  PublishedBuilder builder("f");
  const size_t picture = *builder.PictureOf("7");
  REQUIRE(builder.AddCaption(picture, "en", 30, "third", "").ok());
  REQUIRE(builder.AddCaption(picture, "de", 9, "eins", "").ok());
  REQUIRE(builder.AddCaption(picture, "en", 10, " first\n", "").ok());
  REQUIRE(builder.AddCaption(picture, "en", 20, "second", "").ok());
  REQUIRE(!builder.IsDescribed(picture));
  REQUIRE(builder.Describe(picture, "a/7.jpg", "val").ok());
  REQUIRE(builder.IsDescribed(picture));
  PublishedBuilder all = builder;
  REQUIRE(TextOf(*builder.Finish(2)) == "7 a/7.jpg val: de:eins|en:first|en:second\n");
  REQUIRE(TextOf(*all.Finish(0)) == "7 a/7.jpg val: de:eins|en:first|en:second|en:third\n");
}

TEST_CASE("captions that are none are left out, warned of, and are none of the first ones") {
  PublishedBuilder builder("f.json");
  const size_t picture = *builder.PictureOf("7");
  REQUIRE(builder.Describe(picture, "7.jpg", "").ok());
  REQUIRE(builder.AddCaption(picture, "en", 1, " \t ", "sentence 1").ok());
  REQUIRE(builder.AddCaption(picture, "en", 2, "\xFF", "sentence 2").ok());
  REQUIRE(builder.AddCaption(picture, "en", 3, "good", "sentence 3").ok());
  const auto set = builder.Finish(1);
  REQUIRE(TextOf(*set) == "7 7.jpg : en:good\n");
  REQUIRE(set->warnings.size() == 2);
  REQUIRE(set->warnings[1].item_id == "7");
  REQUIRE(set->warnings[1].path == "f.json");
  REQUIRE_THAT(set->warnings[1].reason, Catch::Contains("sentence 2 is empty"));
}

TEST_CASE("a file leads nowhere but below the folder of pictures") {
  for (const std::string file :
       {"", "/etc/passwd", "../x.jpg", "a/../../x.jpg", "a/..", "a\nb.jpg", "\xFF.jpg"}) {
    CAPTURE(file);
    PublishedBuilder builder("f");
    REQUIRE(absl::IsInvalidArgument(builder.Describe(*builder.PictureOf("1"), file, "")));
  }
  PublishedBuilder builder("f");
  REQUIRE(!builder.Describe(*builder.PictureOf("1"), std::string(5000, 'x'), "").ok());
  REQUIRE(builder.Describe(*builder.PictureOf("1"), "a..b/..c/d..jpg", "").ok());
}

TEST_CASE("a picture is described once, and has to be") {
  PublishedBuilder builder("f");
  const size_t picture = *builder.PictureOf("1");
  REQUIRE(*builder.PictureOf("1") == picture);
  REQUIRE(*builder.Find("1") == picture);
  REQUIRE(!builder.Find("2").has_value());
  REQUIRE(builder.Describe(picture, "a.jpg", "test").ok());
  REQUIRE_THAT(std::string(builder.Describe(picture, "b.jpg", "test").message()),
               Catch::Contains("twice, as \"a.jpg\" and \"b.jpg\""));
  REQUIRE(builder.PictureOf("2").ok());
  REQUIRE_THAT(std::string(builder.Finish(5).status().message()),
               Catch::Contains("picture \"2\" has captions, but nothing tells its file"));
}

TEST_CASE("ids and numbers of captions have their limits") {
  PublishedBuilder builder("f");
  REQUIRE(absl::IsInvalidArgument(builder.PictureOf("").status()));
  REQUIRE(absl::IsInvalidArgument(builder.PictureOf("a\nb").status()));
  const size_t picture = *builder.PictureOf("1");
  for (int i = 0; i < kMaxCaptionsPerItem; ++i) {
    REQUIRE(builder.AddCaption(picture, "en", i, "x", "").ok());
  }
  REQUIRE(absl::IsInvalidArgument(builder.AddCaption(picture, "en", 0, "x", "")));
}

TEST_CASE("the stem of a file is its name without folders and extension") {
  REQUIRE(PictureStem("a/b/tom.jpg") == "tom");
  REQUIRE(PictureStem("tom") == "tom");
  REQUIRE(PictureStem("a.b/tom.tar.gz") == "tom.tar");
}

}  // namespace
}  // namespace sightline
