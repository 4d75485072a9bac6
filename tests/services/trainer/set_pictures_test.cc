#include "services/trainer/set_pictures.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/image/decode.h"
#include "common/models/oscar/small_manifest.h"
#include "common/tokenizer/wordpiece.h"
#include "common/training/changed_picture.h"
#include "common/training/random.h"
#include "common/training/training_set.h"
#include "services/trainer/prepare_job.h"
#include "services/trainer/prepared_folder.h"
#include "tests/common/image/encode.h"
#include "tests/services/trainer/memory_corpus.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kSide = 32;

// A dark bar in a place of its own, on grey.
std::string Picture(int place) {
  Pixels pixels = {kSide, kSide, {}};
  for (int i = 0; i < kSide * kSide; ++i) {
    const bool bar = i % kSide / 4 == place;
    for (int colour = 0; colour < 3; ++colour) pixels.rgb.push_back(bar ? 10 * colour : 120);
  }
  return EncodePng(pixels);
}

// Splits follow from ids: see splits_test.cc.
constexpr char kTrainId[] = "item/104";
constexpr char kValidationId[] = "item/1112";
constexpr char kHeldOutId[] = "item/2458";
constexpr char kTwinId[] = "item/104~1";

class Fixture {
 public:
  Fixture() {
    options.folder = dir.File("set");
    options.image_size = kSide;
    options.augment.shift = 0.2;
    Prepare(/*shown=*/1);
  }

  // `shown` is what the first picture shows.
  void Prepare(int shown) {
    MemoryCorpus corpus;
    corpus.Add(kTrainId, Picture(shown), {{"en", caption}, {"de", "ein Tier"}});
    corpus.Add("item/2", Picture(2), {{"en", "the second of those"}});
    corpus.Add(kValidationId, Picture(3), {{"en", "a frog"}});
    corpus.Add(kHeldOutId, Picture(4), {{"en", "a zebra"}});
    corpus.Add("item/nothing", Picture(5));
    if (twin) corpus.Add(kTwinId, Picture(7), {{"en", "a twin"}});
    PrepareOptions prepare;
    prepare.out = options.folder;
    prepare.languages = {"en", "de"};
    prepare.learn_names = true;
    prepare.model = SmallOscarManifest();
    prepare.model.mutable_grid_extractor()->set_image_size(kSide);
    prepare.vocabulary_size = 1200;
    prepare.vocabulary = vocabulary;
    Progress::Options quiet;
    quiet.terminal = true;
    quiet.write = [](absl::string_view) {};
    Progress progress(quiet, Clock::Real());
    const auto summary =
        PrepareJob(prepare, CorporaOf(corpus), &progress).Run(CallContext::Unbounded());
    INFO(summary.status().ToString());
    REQUIRE(summary.ok());
  }

  std::unique_ptr<CorpusReader> Open() const {
    auto reader = OpenSetPictures(options, CallContext::Unbounded());
    INFO(reader.status().ToString());
    REQUIRE(reader.ok());
    return *std::move(reader);
  }
  std::string Path(absl::string_view name) const { return JoinPath(options.folder, name); }

  TempDir dir;
  SetPicturesOptions options;
  std::string caption = "Wombats, crossing a road!";  // of the first picture
  std::string vocabulary;                             // empty: made
  bool twin = false;                                  // whether an item is named as a copy would be
};

Pixels Decoded(const CorpusReader& reader, const CorpusItem& item) {
  const auto bytes = reader.ReadPicture(item, /*max_bytes=*/1 << 20);
  INFO(bytes.status().ToString());
  REQUIRE(bytes.ok());
  return *DecodeImage(*bytes, DecodeLimits());
}

std::vector<std::string> IdsOf(const CorpusListing& listing) {
  std::vector<std::string> ids;
  for (const CorpusItem& item : listing.items) ids.push_back(item.item_id);
  return ids;
}

TEST_CASE_METHOD(Fixture, "rows to learn from are there with copies, validation's as they are") {
  options.changed_copies = 2;
  const CorpusListing listing = *Open()->List();
  REQUIRE(listing.rejected.empty());
  REQUIRE(IdsOf(listing) == std::vector<std::string>{"item/104", "item/104~1", "item/104~2",
                                                     "item/1112", "item/2", "item/2~1", "item/2~2",
                                                     "item/nothing", "item/nothing~1",
                                                     "item/nothing~2"});
  for (const CorpusItem& item : listing.items) {
    REQUIRE(item.split == (item.item_id == kValidationId ? Split::kValidation : Split::kTrain));
  }
}

// Of a row of the set, between the special ones, and without unknown ones.
std::vector<int32_t> KnownTokens(const TrainingSet& set, int64_t caption) {
  std::vector<int32_t> known;
  const auto all = set.tokens(caption);
  for (const int32_t token : all.subspan(1, all.size() - 2)) {
    if (token != set.special_tokens().unk) known.push_back(token);
  }
  return known;
}

TEST_CASE_METHOD(Fixture, "a caption gives the tokens that it was made of, but for unknown ones") {
  vocabulary = *ReadFile(Path("vocab.txt"));
  caption = "Wombats, crossing \u6f22 a road!";
  Prepare(/*shown=*/1);
  const CorpusListing listing = *Open()->List();
  const auto set = *TrainingSet::Open(Path(kTrainingSetFile));
  const auto tokenizer =
      *WordPieceTokenizer::Create(*ReadFile(Path("vocab.txt")), WordPieceOptions());
  REQUIRE(listing.items[0].captions.size() == 2);
  REQUIRE(listing.items[0].captions[0].text == "wombats , crossing a road !");
  REQUIRE(listing.items[0].captions[1].language == "de");
  std::map<std::string, const CorpusItem*> items;
  for (const CorpusItem& item : listing.items) items[item.item_id] = &item;
  const std::vector<std::pair<std::string, int64_t>> rows = {
      {kTrainId, 0}, {kValidationId, 1}, {"item/2", 2}, {"item/nothing", 4}};
  for (const auto& [id, row] : rows) {
    const CorpusItem& item = *items.at(id);
    REQUIRE(static_cast<int64_t>(item.captions.size()) == set->captions(row).size());
    for (size_t i = 0; i < item.captions.size(); ++i) {
      REQUIRE(*tokenizer->Encode(item.captions[i].text) ==
              KnownTokens(*set, set->captions(row)[static_cast<int64_t>(i)]));
    }
  }
  REQUIRE(items.at("item/nothing")->captions[0].text == "nothing");
}

TEST_CASE_METHOD(Fixture, "pictures are the set's, and copies differ, by the seed alone") {
  options.changed_copies = 2;
  const auto reader = Open(), again = Open();
  const CorpusListing listing = *reader->List();
  const Pixels plain = Decoded(*reader, listing.items[0]);
  REQUIRE(plain.width == kSide);
  REQUIRE(plain.rgb == DecodeImage(Picture(1), DecodeLimits())->rgb);
  const Pixels first = Decoded(*reader, listing.items[1]);
  REQUIRE(first.rgb != plain.rgb);
  REQUIRE(first.rgb != Decoded(*reader, listing.items[2]).rgb);
  REQUIRE(first.rgb == Decoded(*again, listing.items[1]).rgb);
  options.seed = 2;
  const auto other = Open();
  REQUIRE(Decoded(*other, listing.items[0]).rgb == plain.rgb);
  REQUIRE(Decoded(*other, listing.items[1]).rgb != first.rgb);
}

TEST_CASE_METHOD(Fixture, "a copy is the picture of its own row, changed as training changes it") {
  options.changed_copies = 2;
  const auto reader = Open();
  const auto set = *TrainingSet::Open(Path(kTrainingSetFile));
  const CorpusListing listing = *reader->List();
  REQUIRE(listing.items[6].item_id == "item/2~2");
  const Pixels copy = Decoded(*reader, listing.items[6]);
  Random random(RowSeed(options.seed, RandomStream::kVariants, /*step=*/2, /*row=*/2));
  const std::string planes = *ChangedPicture(*set, /*row=*/2, options.augment, &random);
  for (int i = 0; i < kSide * kSide; ++i) {
    for (int colour = 0; colour < 3; ++colour) {
      REQUIRE(copy.rgb[3 * i + colour] == static_cast<uint8_t>(planes[colour * kSide * kSide + i]));
    }
  }
}

TEST_CASE_METHOD(Fixture, "a version tells what a picture follows from") {
  options.changed_copies = 2;
  const auto reader = Open();
  const std::vector<CorpusItem> items = reader->List()->items;
  const std::string plain = reader->PictureVersion(items[0]);
  const std::string copy = reader->PictureVersion(items[1]);
  REQUIRE(copy != plain);
  REQUIRE(reader->PictureVersion(items[2]) != copy);
  options.seed = 2;
  REQUIRE(Open()->PictureVersion(items[1]) != copy);
  REQUIRE(Open()->PictureVersion(items[0]) == plain);
  options.seed = 1;
  AugmentOptions& o = options.augment;
  for (double* range :
       {&o.scale, &o.shift, &o.rotation_degrees, &o.flip_probability, &o.brightness, &o.contrast,
        &o.saturation, &o.grey_probability, &o.erase_probability, &o.erase_side}) {
    const double before = *range;
    *range += 1e-7;
    REQUIRE(Open()->PictureVersion(items[1]) != copy);
    *range = before;
  }
  REQUIRE(Open()->PictureVersion(items[1]) == copy);
  // Another drawing, of which items.jsonl says the same.
  Prepare(/*shown=*/6);
  REQUIRE(Open()->PictureVersion(items[0]) != plain);
}

TEST_CASE_METHOD(Fixture, "a set of another size, and an id that two would have, are refused") {
  options.image_size = 2 * kSide;
  const absl::Status other = OpenSetPictures(options, CallContext::Unbounded()).status();
  REQUIRE(absl::IsInvalidArgument(other));
  REQUIRE(absl::StrContains(other.message(), "pictures of 32 x 32 pixels, and the model sees 64"));
  options.image_size = kSide;
  options.changed_copies = 1;
  twin = true;
  Prepare(/*shown=*/1);
  const absl::Status twins = OpenSetPictures(options, CallContext::Unbounded()).status();
  REQUIRE(absl::IsInvalidArgument(twins));
  REQUIRE(absl::StrContains(twins.message(), "two pictures"));
}

TEST_CASE_METHOD(Fixture, "files of two runs, and pictures over the limit, are refused") {
  const auto reader = Open();
  const absl::Status large =
      reader->ReadPicture(reader->List()->items[0], /*max_bytes=*/10).status();
  REQUIRE(absl::IsInvalidArgument(large));
  for (const absl::string_view name : {absl::string_view("vocab.txt"), kItemsFile}) {
    const std::string whole = *ReadFile(Path(name));
    REQUIRE(WriteFileAtomically(Path(name), absl::StrCat(whole, "zzz\n")).ok());
    const absl::Status mixed = OpenSetPictures(options, CallContext::Unbounded()).status();
    REQUIRE(absl::IsFailedPrecondition(mixed));
    REQUIRE(absl::StrContains(mixed.message(), name));
    REQUIRE(WriteFileAtomically(Path(name), whole).ok());
  }
  options.folder = dir.File("nowhere");
  REQUIRE(absl::IsNotFound(OpenSetPictures(options, CallContext::Unbounded()).status()));
}

}  // namespace
}  // namespace sightline
