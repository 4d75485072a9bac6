#include "services/trainer/set_pictures.h"

#include <algorithm>
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

class Fixture {
 public:
  Fixture() {
    MemoryCorpus corpus;
    corpus.Add(kTrainId, Picture(1), {{"en", "Wombats, crossing a road!"}, {"de", "ein Tier"}});
    corpus.Add("item/2", Picture(2), {{"en", "the second of those"}});
    corpus.Add(kValidationId, Picture(3), {{"en", "a frog"}});
    corpus.Add(kHeldOutId, Picture(4), {{"en", "a zebra"}});
    corpus.Add("item/nothing", Picture(5));
    PrepareOptions prepare;
    prepare.out = dir.File("set");
    prepare.languages = {"en", "de"};
    prepare.learn_names = true;
    prepare.model = SmallOscarManifest();
    prepare.model.mutable_grid_extractor()->set_image_size(kSide);
    prepare.vocabulary_size = 1200;
    Progress::Options quiet;
    quiet.terminal = true;
    quiet.write = [](absl::string_view) {};
    Progress progress(quiet, Clock::Real());
    const auto summary =
        PrepareJob(prepare, CorporaOf(corpus), &progress).Run(CallContext::Unbounded());
    INFO(summary.status().ToString());
    REQUIRE(summary.ok());
    options.folder = prepare.out;
    options.augment.shift = 0.2;
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

TEST_CASE_METHOD(Fixture, "a caption gives the tokens that it was made of") {
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
      std::vector<int32_t> tokens = *tokenizer->Encode(item.captions[i].text);
      tokens.insert(tokens.begin(), tokenizer->cls_id());
      tokens.push_back(tokenizer->sep_id());
      const auto expected = set->tokens(set->captions(row)[static_cast<int64_t>(i)]);
      REQUIRE(tokens == std::vector<int32_t>(expected.begin(), expected.end()));
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

TEST_CASE_METHOD(Fixture, "a version tells what a picture follows from") {
  options.changed_copies = 1;
  const auto reader = Open();
  const CorpusListing listing = *reader->List();
  options.augment.flip_probability = 0.7;
  const auto other = Open();
  REQUIRE(reader->PictureVersion(listing.items[0]) == other->PictureVersion(listing.items[0]));
  REQUIRE(reader->PictureVersion(listing.items[1]) != other->PictureVersion(listing.items[1]));
  REQUIRE(reader->PictureVersion(listing.items[0]) != reader->PictureVersion(listing.items[1]));
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
