#include "common/dataset/npz_reader.h"

#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;

std::unique_ptr<CorpusReader> Open(const Tree& tree) {
  FolderOptions options;
  options.root = tree.root();
  auto reader = NewNpzReader(options);
  if (!reader.ok()) throw std::runtime_error(std::string(reader.status().message()));
  return *std::move(reader);
}

std::string ProblemOf(const std::string& bytes, int64_t max_bytes = kMost) {
  const absl::Status status = ParseNpzRegions(bytes, max_bytes).status();
  REQUIRE((status.ok() || absl::IsInvalidArgument(status)));
  return std::string(status.message());
}

// The arrays by name, those of two regions of three numbers unless given.
std::string With(const std::string& name, const std::string& array) {
  ZipWriter zip;
  const auto add = [&](const std::string& own, const std::string& content) {
    if (own == name && array.empty()) return;
    zip.Add(own + ".npy", own == name ? array : content, false);
  };
  add("features", Npy("<f4", {2, 3}, {1, 2, 3, 4, 5, 6}));
  add("norm_bb", Npy("<f4", {2, 4}, {0, 0, 1, 1, 0, 0, 0.5f, 0.5f}));
  add("conf", Npy("<f4", {2, 1}, {0.9f, 0.3f}));
  return zip.Finish();
}

TEST_CASE("a folder of archives is a corpus of regions") {
  Tree tree;
  tree.Put("coco_val2014_000000000042.npz", SomeNpz(4, 8));
  tree.Put("more/b.npz", SomeNpz(2, 8, "<f4", /*deflate=*/true));
  tree.Put("notes.txt", "not an item");
  tree.Put("captions.jsonl", R"({"path": "more/b.npz", "id": "b", "captions": ["a sign"], )"
                             R"("tags": ["sign", "sign"], "ocr_tokens": ["STOP", "now"]})");
  const auto reader = Open(tree);
  REQUIRE(reader->region_feature_size() == 8);
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"b", "coco_val2014_000000000042"});
  REQUIRE(CaptionsOf(listing->items[0]) == "en:a sign");
  REQUIRE(listing->items[0].tags == std::vector<std::string>{"sign", "sign"});
  REQUIRE(listing->items[0].ocr_tokens == std::vector<std::string>{"STOP", "now"});

  const auto regions = reader->ReadRegions(listing->items[1], kMost);
  REQUIRE(regions.ok());
  REQUIRE(regions->count == 4);
  REQUIRE(regions->features[8] == 0.5f);
  REQUIRE(regions->boxes.size() == 16);
  REQUIRE(regions->boxes[6] == 0.625f);  // x2 of the second
  REQUIRE(regions->confidences[1] == 1.0f - 1.0f / 128);
  REQUIRE(reader->ReadRegions(listing->items[0], kMost)->count == 2);
  REQUIRE(absl::IsFailedPrecondition(reader->ReadPicture(listing->items[0], kMost).status()));
}

TEST_CASE("widths and heights are the file's, not computed from rounded corners") {
  // Half precision: 0.1 is 0.09998, 0.7 is 0.7002, and 0.6 is 0.6001, not their difference.
  ZipWriter zip;
  zip.Add("features.npy", Npy("<f2", {2, 1}, {1, 2}), false);
  zip.Add("norm_bb.npy",
          Npy("<f2", {2, 6}, {.25f, 0, .5f, 1, .25f, 1, .1f, .1f, .7f, .7f, .6f, .6f}), false);
  zip.Add("conf.npy", Npy("<f2", {2}, {.25f, .5f}), false);
  const auto regions = ParseNpzRegions(zip.Finish(), kMost);
  REQUIRE(regions.ok());
  REQUIRE(regions->features == std::vector<float>{2, 1});
  const float corner = regions->boxes[0], size = regions->box_sizes[0];
  REQUIRE(size == Approx(.6).margin(3e-4));
  REQUIRE(size != regions->boxes[2] - corner);
  REQUIRE(regions->box_sizes == std::vector<float>{size, size, .25f, 1});
  const auto without = ParseNpzRegions(With("", ""), kMost);
  REQUIRE(without.ok());
  REQUIRE(without->box_sizes.empty());
  const auto boxless = ParseNpzRegions(With("norm_bb", ""), kMost);
  REQUIRE(boxless.ok());
  REQUIRE(boxless->boxes.empty());
  REQUIRE(boxless->features.size() == 6);
}

TEST_CASE("regions come in falling order of confidence, equal ones in the file's") {
  ZipWriter zip;
  zip.Add("features.npy", Npy("<f4", {3, 1}, {1, 2, 3}), false);
  zip.Add("norm_bb.npy", Npy("<f4", {3, 4}, {.1f, 0, 1, 1, .2f, 0, 1, 1, .3f, 0, 1, 1}), false);
  zip.Add("conf.npy", Npy("<f4", {3}, {.25f, .5f, .25f}), false);
  const auto regions = ParseNpzRegions(zip.Finish(), kMost);
  REQUIRE(regions.ok());
  REQUIRE(regions->features == std::vector<float>{2, 1, 3});
  REQUIRE(regions->confidences == std::vector<float>{.5f, .25f, .25f});
  REQUIRE(regions->boxes[0] == .2f);
  REQUIRE(regions->boxes[8] == .3f);
}

// Soft labels of three classes, and confidences that do not fall.
std::string Labelled(const std::string& labels) {
  ZipWriter zip;
  zip.Add("features.npy", Npy("<f4", {2, 1}, {1, 2}), false);
  zip.Add("conf.npy", Npy("<f4", {2}, {.25f, .5f}), false);
  if (!labels.empty()) zip.Add("soft_labels.npy", labels, true);
  return zip.Finish();
}

TEST_CASE("soft labels are the folder's where files have them, in the order of their regions") {
  Tree tree;
  tree.Put("a.npz", Labelled(""));
  tree.Put("b.npz", Labelled(Npy("<f2", {2, 3}, {.5f, .25f, .25f, 0, 0, 1})));
  tree.Put("c.npz", Labelled(Npy("<f4", {2, 3}, {1, 0, 0, 0, 1, 0})));
  tree.Put("d.npz", Labelled(Npy("<f4", {2, 2}, {1, 0, 0, 1})));
  const auto reader = Open(tree);
  REQUIRE(reader->soft_label_count() == 3);
  const auto listing = reader->List();
  const auto labels = reader->ReadSoftLabels(listing->items[1], kMost);
  REQUIRE(labels.ok());
  REQUIRE(*labels == std::vector<float>{0, 0, 1, .5f, .25f, .25f});
  REQUIRE(reader->ReadRegions(listing->items[1], kMost)->features == std::vector<float>{2, 1});
  const auto problem = [&](int item, int64_t max_bytes) {
    const absl::Status status = reader->ReadSoftLabels(listing->items[item], max_bytes).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  REQUIRE_THAT(problem(0, kMost), Catch::Contains("of 0 classes; most of its folder's have 3"));
  REQUIRE_THAT(problem(3, kMost), Catch::Contains("of 2 classes; most of its folder's have 3"));
  REQUIRE_THAT(problem(1, 20), Catch::Contains("limit"));
}

TEST_CASE("soft labels that are no probabilities are refused, and are none of a folder's") {
  const auto problem = [](const std::string& labels) {
    const absl::Status status = ParseNpzSoftLabels(Labelled(labels), kMost).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  const std::string bad = Npy("<f4", {2, 2}, {.5f, .5f, .5f, .6f});
  REQUIRE_THAT(problem(bad), Catch::Contains("add up to 1.1 at region 1"));
  REQUIRE_THAT(problem(Npy("<f4", {2, 2}, {1, 0, -1, 2})), Catch::Contains("soft label -1"));
  REQUIRE_THAT(problem(Npy("<f4", {1, 2}, {.5f, .5f})), Catch::Contains("wanted (2, classes)"));
  REQUIRE_THAT(problem(Npy("<f4", {2}, {1, 1})), Catch::Contains("wanted (2, classes)"));
  REQUIRE_THAT(problem("junk"), Catch::Contains("soft_labels: not an npy"));
  REQUIRE(ParseNpzSoftLabels(Labelled(""), kMost)->empty());

  Tree tree;
  tree.Put("a.npz", Labelled(bad));
  const auto reader = Open(tree);
  REQUIRE(reader->soft_label_count() == 0);
  const auto listing = reader->List();
  REQUIRE(reader->ReadRegions(listing->items[0], kMost).ok());
  REQUIRE(reader->ReadSoftLabels(listing->items[0], kMost)->empty());
}

TEST_CASE("an archive that cannot be is refused, and why") {
  REQUIRE(ProblemOf(With("", "")) == "");
  REQUIRE(ProblemOf(With("conf", "")) == "");
  const struct {
    const char* name;
    std::string array;
    const char* said;
  } kCases[] = {
      {"features", "", "has no array features; it has conf, norm_bb"},
      {"features", "junk", "features: not an npy"},
      {"features", NpyOf(NpyHeader("|O", {2}), "pickle"), "pickled"},
      {"features", Npy("<f4", {6}, {1, 2, 3, 4, 5, 6}), "wanted regions x numbers"},
      {"features", Npy("<f4", {0, 3}, {}), "no regions"},
      {"features", Npy("<f4", {3, 2}, {1, 2, 3, 4, 5, 6}), "wanted (3, 4 or more)"},
      {"norm_bb", Npy("<f4", {2, 3}, {0, 0, 1, 1, 1, 1}), "4 or more"},
      {"norm_bb", Npy("<f4", {2, 4}, {0, 0, 640, 480, 0, 0, 1, 1}), "pixels"},
      {"conf", Npy("<f4", {3}, {1, 1, 1}), "wanted (2)"},
      {"conf", Npy("<f4", {2, 2}, {1, 1, 1, 1}), "wanted (2)"},
  };
  for (const auto& test : kCases) {
    INFO(test.name);
    REQUIRE_THAT(ProblemOf(With(test.name, test.array)), Catch::Contains(test.said));
  }
  REQUIRE_THAT(ProblemOf(With("", ""), 20), Catch::Contains("limit"));
}

TEST_CASE("an archive cut anywhere is refused; a flipped bit is refused or in what nobody reads") {
  const std::string whole = SomeNpz(2, 2);
  const RegionSet good = *ParseNpzRegions(whole, kMost);
  for (size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(ProblemOf(whole.substr(0, length)).empty());
  }
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto regions = ParseNpzRegions(flipped, kMost);
    INFO(bit);
    if (regions.ok()) REQUIRE(regions->features == good.features);
  }
}

TEST_CASE("one width for a folder: another's is that file's fault") {
  Tree tree;
  tree.Put("a.npz", "damaged");
  tree.Put("b.npz", SomeNpz(2, 8));
  tree.Put("c.npz", SomeNpz(2, 9));
  REQUIRE(Open(tree)->region_feature_size() == 8);
  tree.Put("d.npz", SomeNpz(2, 9));
  tree.Put("e.npz", SomeNpz(2, 8));
  tree.Put("f.npz", SomeNpz(2, 8));
  const auto reader = Open(tree);
  REQUIRE(reader->region_feature_size() == 8);
  tree.Put("g.npz", SomeNpz(2, 9));
  tree.Put("h.npz", SomeNpz(2, 9));
  REQUIRE(Open(tree)->region_feature_size() == 9);
  const auto listing = reader->List();
  REQUIRE(absl::IsInvalidArgument(reader->ReadRegions(listing->items[0], kMost).status()));
  REQUIRE(reader->ReadRegions(listing->items[1], kMost).ok());
  REQUIRE_THAT(std::string(reader->ReadRegions(listing->items[2], kMost).status().message()),
               Catch::Contains("9 numbers; most of its folder's have 8"));
}

TEST_CASE("a folder without an archive that can be read is refused") {
  Tree tree;
  tree.Put("notes.txt", "x");
  FolderOptions options;
  options.root = tree.root();
  REQUIRE_THAT(std::string(NewNpzReader(options).status().message()), Catch::Contains("none"));
  tree.Put("a.npz", "damaged");
  REQUIRE_THAT(std::string(NewNpzReader(options).status().message()),
               Catch::Contains("a.npz: not a whole ZIP"));
  options.root = tree.Path("nowhere");
  REQUIRE(absl::IsNotFound(NewNpzReader(options).status()));
}

}  // namespace
}  // namespace sightline
