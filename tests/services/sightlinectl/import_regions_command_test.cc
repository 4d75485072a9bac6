#include "services/sightlinectl/import_regions.h"

#include "common/dataset/npz_reader.h"
#include "common/dataset/region_file.h"
#include "services/sightlinectl/command.h"
#include "services/sightlinectl/describe_command.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunCommand, args);
}

TEST_CASE("a published set's captions and splits go into the file with another corpus' regions") {
  Tree tree;
  tree.Put("npz/flickr30k_000000000007.npz", SomeNpz(2, 8));
  tree.Put("set.json",
           R"({"images": [{"filename": "7.jpg", "split": "test",
                           "sentences": [{"raw": "a cat", "sentid": 1}]}]})");
  const std::string path = tree.Path("out.regions");
  const Ran ran = Run({"import-regions",
                       "karpathy:" + tree.Path("set.json") + ",regions=npz:" + tree.Path("npz") +
                           ",region_id=flickr30k_{id:012}",
                       "--out", path});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const auto file = RegionFile::Open(path);
  REQUIRE(file.ok());
  const auto line = (*file)->Item(0);
  REQUIRE(line->id == "7");
  REQUIRE(line->captions[0].text == "a cat");
  REQUIRE(line->split == Split::kHeldOut);
  REQUIRE(line->published_place == 0);
}

TEST_CASE("a folder of npz files becomes one region file that describes itself") {
  Tree tree;
  tree.Put("in/a.npz", SomeNpz(2, 8));
  tree.Put("in/b.npz", SomeNpz(3, 8));
  tree.Put("in/captions.jsonl",
           R"({"path": "a.npz", "captions": ["one", {"language": "de", "text": "eins"}], )"
           R"("tags": ["sign"], "ocr_tokens": ["STOP", "NOW"]})");
  const std::string path = tree.Path("out.regions");
  const Ran ran = Run({"import-regions", "npz:" + tree.Path("in"), "--out", path});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(ran.out == "wrote 2 items to " + path + "\n");

  const auto file = RegionFile::Open(path);
  REQUIRE(file.ok());
  REQUIRE((*file)->feature_dtype() == Dtype::kFloat16);
  const auto regions = (*file)->Regions(1, 1 << 20);
  REQUIRE(regions->features == ParseNpzRegions(SomeNpz(3, 8), 1 << 20)->features);
  REQUIRE((*file)->soft_label_count() == 2);
  REQUIRE(*(*file)->SoftLabels(1, 1 << 20) == *ParseNpzSoftLabels(SomeNpz(3, 8), 1 << 20));
  REQUIRE((*file)->Item(0)->captions.size() == 2);
  REQUIRE((*file)->Item(0)->ocr_tokens.size() == 2);

  const auto text = Describe(path, {});
  REQUIRE(text.ok());
  REQUIRE_THAT(*text,
               Catch::Contains("items        2\n") && Catch::Contains("regions      5\n") &&
                   Catch::Contains("features     8 numbers, float16\n") &&
                   Catch::Contains("boxes        x1/W, y1/H, x2/W, y2/H, w/W, h/H\n") &&
                   Catch::Contains("confidences  one a region\n") &&
                   Catch::Contains("captions     2\n") && Catch::Contains("tags         1\n") &&
                   Catch::Contains("OCR tokens   2\n") && Catch::Contains("regions/features"));
}

TEST_CASE("items that do not pass are left out and named") {
  Tree tree;
  tree.Put("in/a.npz", SomeNpz(2, 8));
  tree.Put("in/b.npz", "damaged");
  const std::string path = tree.Path("out.regions");
  const Ran ran = Run({"import-regions", "npz:" + tree.Path("in"), "--out", path, "--float32"});
  REQUIRE(ran.status == 1);
  REQUIRE_THAT(ran.err, Catch::Contains("b.npz: not a whole ZIP archive"));
  REQUIRE((*RegionFile::Open(path))->item_count() == 1);
  REQUIRE((*RegionFile::Open(path))->feature_dtype() == Dtype::kFloat32);
}

// An archive of one region of three numbers.
std::string OddNpz(int box_columns, bool conf, float feature) {
  ZipWriter zip;
  zip.Add("features.npy", Npy("<f4", {1, 3}, {feature, 2, 3}));
  std::vector<float> box = {0, 0, 0.5f, 1, 0.5005f, 1};
  box.resize(box_columns);
  if (box_columns > 0) zip.Add("norm_bb.npy", Npy("<f4", {1, box_columns}, box));
  if (conf) zip.Add("conf.npy", Npy("<f4", {1}, {0.5f}));
  return zip.Finish();
}

TEST_CASE("an odd item does not cost the others, and boxes without sizes get them") {
  Tree tree;
  tree.Put("in/a.npz", OddNpz(0, true, 1));     // no boxes
  tree.Put("in/b.npz", OddNpz(4, false, 1));    // no confidences
  tree.Put("in/c.npz", OddNpz(6, true, 1e6f));  // too large for float16
  for (const char* name : {"d", "e", "f"}) {
    tree.Put(absl::StrCat("in/", name, ".npz"), OddNpz(name[0] == 'e' ? 4 : 6, true, 1));
  }
  const std::string path = tree.Path("out.regions");
  const Ran ran = Run({"import-regions", "npz:" + tree.Path("in"), "--out", path});
  REQUIRE(ran.out == "wrote 3 items to " + path + "\n");
  REQUIRE(ran.status == 1);
  REQUIRE_THAT(ran.err, Catch::Contains("a.npz: has no boxes, unlike most") &&
                            Catch::Contains("b.npz: has no confidences, unlike most") &&
                            Catch::Contains("c.npz: has the feature 1e+06, too large") &&
                            Catch::Contains("3 items were left out"));
  const auto file = RegionFile::Open(path);
  REQUIRE((*file)->Item(1)->id == "e");
  REQUIRE((*file)->Regions(0, 1 << 20)->box_sizes == std::vector<float>{0.5005f, 1});
  REQUIRE((*file)->Regions(1, 1 << 20)->box_sizes == std::vector<float>{0.5f, 1});
}

TEST_CASE("captions that are lost on the way are told") {
  Tree tree;
  tree.Put("test_ims.npy", Npy("<f4", {2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  tree.Put("test_caps.txt", "a dog\ncaf\xe9\n");
  const Ran ran =
      Run({"import-regions", "precomp:" + tree.root(), "--out", tree.Path("out.regions")});
  REQUIRE(ran.status == 0);
  REQUIRE_THAT(ran.err, Catch::Contains("warning: ") && Catch::Contains("line 2"));
}

TEST_CASE("a folder is no place to write to, which is told before anything is read") {
  Tree tree;
  const Ran ran = Run({"import-regions", "npz:/nowhere", "--out", tree.root()});
  REQUIRE(ran.status == 1);
  REQUIRE_THAT(ran.err, Catch::Contains("is a folder"));
}

TEST_CASE("wrong words and corpora of pictures are refused") {
  Tree tree;
  tree.Put("a.png", "x");
  REQUIRE(Run({"import-regions", "npz"}).status == 2);
  REQUIRE(Run({"import-regions", "photos:/x", "--out", "y"}).status == 2);
  const Ran pictures =
      Run({"import-regions", "folder:" + tree.root(), "--out", tree.Path("out.regions")});
  REQUIRE(pictures.status == 1);
  REQUIRE_THAT(pictures.err, Catch::Contains("holds pictures"));
}

}  // namespace
}  // namespace sightline
