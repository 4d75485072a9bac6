#include "common/bundle/model_probes.h"

#include <google/protobuf/util/message_differencer.h>

#include <functional>
#include <limits>
#include <string>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/manifests.h"
#include "tests/common/bundle/probes.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using bundle::v1::ModelProbes;
using google::protobuf::util::MessageDifferencer;

absl::StatusOr<ModelBundle> BundleWith(const TempDir& store, const std::string& probes) {
  return WriteModelBundle(
      store.path(), SoundModelManifest(),
      {{"vocab.txt", "[PAD]\n"}, {"weights.safetensors", "w"}, {std::string(kProbesFile), probes}});
}

TEST_CASE("a bundle's probes are read as they were written, byte for byte") {
  TempDir store;
  const ModelProbes probes = SoundProbes();
  REQUIRE(CheckProbes(probes).ok());
  const auto bundle = BundleWith(store, SerializeProbes(probes));
  REQUIRE(bundle.ok());
  REQUIRE(HasProbes(bundle->manifest));
  const auto read = ReadModelProbes(*bundle);
  REQUIRE(read.ok());
  REQUIRE(MessageDifferencer::Equals(*read, probes));
  REQUIRE(SerializeProbes(*read) == SerializeProbes(probes));
}

TEST_CASE("probes are no part of the embedding space") {
  TempDir store;
  const auto without = WriteModelBundle(store.path(), SoundModelManifest(),
                                        {{"vocab.txt", "[PAD]\n"}, {"weights.safetensors", "w"}});
  const auto with = BundleWith(store, SerializeProbes(SoundProbes()));
  REQUIRE(with->id != without->id);
  REQUIRE(with->manifest.embedding().space() == without->manifest.embedding().space());
  REQUIRE_FALSE(HasProbes(without->manifest));
  REQUIRE(absl::IsNotFound(ReadModelProbes(*without).status()));
}

TEST_CASE("a bundle with probes is the same model under another id") {
  TempDir store;
  const std::string weights(3 << 20, 'w');  // more than a piece
  const auto without =
      WriteModelBundle(store.path(), SoundModelManifest(),
                       {{"vocab.txt", "[PAD]\n"}, {"weights.safetensors", weights}});
  const auto with = WithProbes(*without, SoundProbes(), store.path());
  REQUIRE(with.ok());
  REQUIRE(with->id != without->id);
  REQUIRE(OpenModelBundle(with->directory, /*verify_checksums=*/true).ok());
  REQUIRE(*ReadFile(with->FilePath(kWeightsFile)) == weights);
  REQUIRE(with->manifest.embedding().space() == without->manifest.embedding().space());
  ModelBundleManifest expected = without->manifest, manifest = with->manifest;
  expected.clear_files();
  manifest.clear_files();
  REQUIRE(MessageDifferencer::Equals(manifest, expected));

  ModelProbes others = SoundProbes();
  others.mutable_texts(0)->set_text("a cat");
  const auto replaced = WithProbes(*with, others, store.path());
  REQUIRE(replaced->manifest.files_size() == 3);
  REQUIRE(ReadModelProbes(*replaced)->texts(0).text() == "a cat");

  others.clear_texts();
  REQUIRE(absl::IsInvalidArgument(WithProbes(*without, others, store.path()).status()));
  Overwrite(without->FilePath(kWeightsFile), std::string(3 << 20, 'x'));
  REQUIRE(absl::IsDataLoss(WithProbes(*without, SoundProbes(), store.path()).status()));
}

TEST_CASE("features come back as they went in") {
  bundle::v1::ProbeItem item;
  SetFeatures({{{"codes", Dtype::kInt8, 2, 3, "abcdef"}, {"x", Dtype::kFloat32, 1, 1, "1234"}}},
              &item);
  const ItemFeatures features = FeaturesOf(item);
  REQUIRE(features.tensors.size() == 2);
  const FeatureTensor* codes = features.Find("codes");
  REQUIRE(codes != nullptr);
  REQUIRE(codes->dtype == Dtype::kInt8);
  REQUIRE(codes->rows == 2);
  REQUIRE(codes->columns == 3);
  REQUIRE(codes->bytes == "abcdef");
  SetFeatures({}, &item);
  REQUIRE(item.features().empty());
}

// One way to be unsound, and what the error names.
struct Unsound {
  std::string named;
  std::function<void(ModelProbes*)> spoil;
};

void Resize(int count, google::protobuf::RepeatedPtrField<bundle::v1::ProbeItem>* items) {
  while (items->size() > count) items->RemoveLast();
  while (items->size() < count) *items->Add() = items->Get(0);
}

bundle::v1::ProbeTensor* Regions(ModelProbes* probes) {
  return probes->mutable_items(2)->mutable_features(0);
}

TEST_CASE("whatever is outside of the bounds is named, written or read") {
  const Unsound all[] = {
      {"format_version is 0", [](ModelProbes* p) { p->set_format_version(0); }},
      {"the number of texts is 1", [](ModelProbes* p) { p->mutable_texts()->RemoveLast(); }},
      {"the number of texts is 257",
       [](ModelProbes* p) {
         while (p->texts_size() <= kMostProbeTexts) p->add_texts()->set_text("x");
       }},
      {"the number of items is 19", [](ModelProbes* p) { Resize(19, p->mutable_items()); }},
      {"the number of items is 1025", [](ModelProbes* p) { Resize(1025, p->mutable_items()); }},
      {"text 1: the length in bytes is 4097",
       [](ModelProbes* p) { p->mutable_texts(1)->set_text(std::string(4097, 'x')); }},
      {"text 0: a relevant item is 20",
       [](ModelProbes* p) { p->mutable_texts(0)->add_relevant_items(20); }},
      {"text 0: a relevant item is -1",
       [](ModelProbes* p) { p->mutable_texts(0)->add_relevant_items(-1); }},
      {"text 1: item 3 is relevant twice",
       [](ModelProbes* p) { p->mutable_texts(1)->add_relevant_items(3); }},
      {"item 2: a tensor's name", [](ModelProbes* p) { Regions(p)->set_name("Regions"); }},
      {"item 2: a tensor's name", [](ModelProbes* p) { Regions(p)->set_name(""); }},
      {"item 2: a tensor's name",
       [](ModelProbes* p) { Regions(p)->set_name(std::string(65, 'a')); }},
      {"item 2: has tags twice", [](ModelProbes* p) { Regions(p)->set_name("tags"); }},
      {"item 2: regions has a dtype", [](ModelProbes* p) { Regions(p)->set_dtype("int64"); }},
      {"item 2: regions.row_count is -1", [](ModelProbes* p) { Regions(p)->set_row_count(-1); }},
      {"item 2: regions.row_count is 4097",
       [](ModelProbes* p) { Regions(p)->set_row_count(4097); }},
      {"item 2: regions.column_count is 0",
       [](ModelProbes* p) { Regions(p)->set_column_count(0); }},
      {"item 2: regions.column_count is 8193",
       [](ModelProbes* p) { Regions(p)->set_column_count(8193); }},
      {"item 2: regions has 23 bytes, its shape and dtype give 24",
       [](ModelProbes* p) { Regions(p)->mutable_data()->pop_back(); }},
      {"item 2: regions has 24 bytes, its shape and dtype give 48",
       [](ModelProbes* p) { Regions(p)->set_dtype("float32"); }},
      {"item 2: the bytes of features is",
       [](ModelProbes* p) {
         Regions(p)->set_row_count(2048);
         Regions(p)->set_column_count(4097);
         Regions(p)->set_data(std::string(2048 * 4097 * 2, 'x'));
       }},
      {"item 1: the number of tensors is 65",
       [](ModelProbes* p) {
         for (int i = 0; i < 63; ++i) {
           *p->mutable_items(1)->add_features() = p->items(1).features(1);
         }
       }},
      {"item 19: has features and item 0 has none",
       [](ModelProbes* p) { p->mutable_items(19)->clear_features(); }},
      {"item 19: its embedding has 0 numbers, that of item 0 3",
       [](ModelProbes* p) { p->mutable_items(19)->clear_embedding(); }},
      {"item 5: its embedding is not finite",
       [](ModelProbes* p) {
         p->mutable_items(5)->set_embedding(1, std::numeric_limits<float>::quiet_NaN());
       }},
      {"item 0: the embedding's dimension is 4097",
       [](ModelProbes* p) { p->mutable_items(0)->mutable_embedding()->Resize(4097, 1); }},
      {"item 0: has neither",
       [](ModelProbes* p) {
         for (auto& item : *p->mutable_items()) item.Clear();
       }},
      {"the number of bytes is",
       [](ModelProbes* p) {
         for (int i = 0; i < 17; ++i) {
           auto* tensor = p->mutable_items(i)->mutable_features(0);
           tensor->set_row_count(512);
           tensor->set_column_count(4000);
           tensor->set_data(std::string(512 * 4000 * 2, 'x'));
         }
       }},
  };
  for (const Unsound& unsound : all) {
    INFO(unsound.named);
    ModelProbes probes = SoundProbes();
    unsound.spoil(&probes);
    const absl::Status checked = CheckProbes(probes);
    REQUIRE(absl::IsInvalidArgument(checked));
    REQUIRE_THAT(std::string(checked.message()), Catch::StartsWith(unsound.named));
    REQUIRE(absl::IsDataLoss(ParseProbes(SerializeProbes(probes)).status()));
  }
}

TEST_CASE("the last that is within the bounds is taken") {
  ModelProbes probes = SoundProbes();
  probes.mutable_texts(0)->set_text(std::string(4096, 'x'));
  while (probes.texts_size() < kMostProbeTexts) probes.add_texts();
  Resize(kMostProbeItems, probes.mutable_items());
  for (int i = 0; i < kMostProbeItems; ++i) probes.mutable_texts(7)->add_relevant_items(i);
  REQUIRE(CheckProbes(probes).ok());
  REQUIRE(ParseProbes(SerializeProbes(probes)).ok());
}

TEST_CASE("a newer format is refused as such, and damage as damage, with the file named") {
  TempDir store;
  ModelProbes newer = SoundProbes();
  newer.set_format_version(2);
  const auto of_newer = ReadModelProbes(*BundleWith(store, SerializeProbes(newer)));
  REQUIRE(HasReason(of_newer.status(), reasons::kNewerFormat));
  REQUIRE_THAT(std::string(of_newer.status().message()), Catch::Contains("probes.binpb: format"));

  const auto of_noise = ReadModelProbes(*BundleWith(store, "no message"));
  REQUIRE(absl::IsDataLoss(of_noise.status()));
  REQUIRE_THAT(std::string(of_noise.status().message()), Catch::Contains("probes.binpb"));

  const auto bundle = BundleWith(store, SerializeProbes(SoundProbes()));
  Overwrite(bundle->FilePath(kProbesFile), SerializeProbes(SoundProbes()).replace(4, 1, "X"));
  REQUIRE(HasReason(ReadModelProbes(*bundle).status(), reasons::kChecksumMismatch));
}

TEST_CASE("no cut of sound probes is taken for sound but by chance of where items end") {
  const std::string bytes = SerializeProbes(SoundProbes());
  for (size_t length = 0; length < bytes.size(); ++length) {
    // Without its last item there are too few of them.
    REQUIRE(absl::IsDataLoss(ParseProbes(bytes.substr(0, length)).status()));
  }
}

TEST_CASE("millions of empty messages are refused before they are made") {
  // Two bytes each, of an item, of a text, of a tensor within an item; and within a group.
  const std::string sound = SerializeProbes(SoundProbes());
  const auto refuses = [](const std::string& bytes) {
    const PeakAllocation peak;
    REQUIRE(absl::IsDataLoss(ParseProbes(bytes).status()));
    REQUIRE(peak.bytes() < 1 << 20);
  };
  std::string items, tensors;
  for (int i = 0; i < (1 << 20) + 1; ++i) items.append("\x1a\0", 2);
  refuses(sound + items);
  for (int i = 0; i < (1 << 20) + 1; ++i) tensors.append("\x0a\0", 2);
  const size_t length = tensors.size();  // 22 bits
  std::string item("\x1a", 1);
  item += static_cast<char>(0x80 | (length & 0x7F));
  item += static_cast<char>(0x80 | (length >> 7 & 0x7F));
  item += static_cast<char>(0x80 | (length >> 14 & 0x7F));
  item += static_cast<char>(length >> 21);
  refuses(sound + item + tensors);
  const std::string unknown("\x78\x05", 2);  // field 15, a number: what a later writer may add
  REQUIRE(ParseProbes(sound + unknown).ok());
  REQUIRE(absl::IsDataLoss(ParseProbes(sound + "\x7b" + unknown + "\x7c").status()));
}

}  // namespace
}  // namespace sightline
