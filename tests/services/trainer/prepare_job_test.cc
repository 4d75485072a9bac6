#include "services/trainer/prepare_job.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/models/oscar/small_manifest.h"
#include "common/training/training_set.h"
#include "services/trainer/prepared_folder.h"
#include "services/trainer/square_picture.h"
#include "tests/common/image/encode.h"
#include "tests/services/trainer/memory_corpus.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Pictures of one colour with a dark bar: no two of different `kind` are near duplicates.
std::string Picture(int kind) {
  Pixels pixels;
  pixels.width = 36;
  pixels.height = 32;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 36; ++x) {
      const bool bar = x / 4 == kind % 8 || y / 4 == kind / 8;
      const int value = bar ? 0 : 40 + 20 * (kind % 10);
      for (int i = 0; i < 3; ++i) pixels.rgb.push_back(static_cast<uint8_t>(value));
    }
  }
  return EncodePng(pixels);
}

// Splits by `printf %s ID | sha256sum`: see splits_test.cc.
constexpr char kHeldOutId[] = "item/2458";
constexpr char kValidationId[] = "item/1112";
constexpr char kTrainId[] = "item/104";
constexpr char kSecondTrainId[] = "item/2";

// Draws to nowhere.
Progress::Options Silent() {
  Progress::Options options;
  options.terminal = true;
  return options;
}

class Fixture {
 public:
  Fixture() {
    options.out = dir.File("out");
    options.languages = {"en", "de"};
    options.model = SmallOscarManifest();
    options.model.mutable_grid_extractor()->set_image_size(32);
    options.model.mutable_tokenizer()->set_max_token_count(8);
    options.vocabulary_size = 1200;
    options.threads = 2;
    corpus.Add(kTrainId, Picture(1),
               {{"de", "roter Fisch"}, {"en", "red fish"}, {"fr", "poisson"}});
    corpus.Add(kSecondTrainId, Picture(2), {{"en", "Red Fish!"}, {"en", "fish fish swimming"}});
    corpus.Add(kValidationId, Picture(3), {{"en", "green frog"}});
    corpus.Add(kHeldOutId, Picture(4), {{"en", "zebra zebra zebra"}});
    corpus.Add("item/nothing", Picture(5));
    corpus.Add("item/broken", "no picture at all", {{"en", "broken broken broken"}});
  }

  absl::StatusOr<PrepareSummary> Run(const CallContext& call = CallContext::Unbounded()) {
    Progress progress(Silent(), Clock::Real());
    return PrepareJob(options, CorporaOf(corpus), &progress).Run(call);
  }

  std::string Path(absl::string_view name) const { return JoinPath(options.out, name); }
  std::string Read(absl::string_view name) const { return *ReadFile(Path(name)); }
  std::vector<nlohmann::json> Items() const {
    std::vector<nlohmann::json> items;
    for (const auto line : absl::StrSplit(Read(kItemsFile), '\n', absl::SkipEmpty())) {
      items.push_back(nlohmann::json::parse(std::string(line)));
    }
    return items;
  }
  std::set<std::string> Vocabulary() const { return absl::StrSplit(Read("vocab.txt"), '\n'); }
  std::unique_ptr<TrainingSet> Set() const {
    auto set = TrainingSet::Open(Path(kTrainingSetFile));
    INFO(set.status());
    REQUIRE(set.ok());
    return *std::move(set);
  }

  TempDir dir;
  MemoryCorpus corpus;
  PrepareOptions options;
};

TEST_CASE_METHOD(Fixture, "rows are the good pictures in the order of their ids") {
  const auto summary = Run();
  INFO(summary.status());
  REQUIRE(summary.ok());
  const std::vector<nlohmann::json> items = Items();
  std::vector<std::string> ids, splits;
  for (const nlohmann::json& item : items) {
    ids.push_back(item["item_id"]);
    splits.push_back(item["split"]);
  }
  REQUIRE(ids ==
          std::vector<std::string>{"item/104", "item/1112", "item/2", "item/2458", "item/nothing"});
  REQUIRE(std::vector<std::string>(splits.begin(), splits.begin() + 4) ==
          std::vector<std::string>{"train", "validation", "train", "held_out"});
  const auto set = Set();
  REQUIRE(set->row_count() == 5);
  REQUIRE(set->image_size() == 32);
  REQUIRE(set->use(1) == TrainingUse::kValidation);
  REQUIRE(set->use(3) == TrainingUse::kHeldOut);
  for (int row = 0; row < 5; ++row) {
    REQUIRE(items[row]["group"] == row);
    REQUIRE(set->group(row) == row);
  }
  const int kinds[] = {1, 3, 2, 4, 5};
  for (int row = 0; row < 5; ++row) {
    const auto pixels = DecodeImage(Picture(kinds[row]), DecodeLimits());
    REQUIRE(pixels.ok());
    REQUIRE(std::string(reinterpret_cast<const char*>(set->picture(row)), set->picture_bytes()) ==
            *SquareBytes(*pixels, 32));
  }
}

TEST_CASE_METHOD(Fixture, "captions come by language, tokenised, with equal keys for equal words") {
  REQUIRE(Run().ok());
  const auto set = Set();
  REQUIRE(Items()[0]["captions"].dump() ==
          R"([{"language":"en","text":"red fish"},{"language":"de","text":"roter Fisch"}])");
  REQUIRE(set->captions(0).size() == 2);
  REQUIRE(set->language(0) == 0);
  REQUIRE(set->language(1) == 1);
  // "red fish" and "Red Fish!"
  const int64_t other = set->captions(2)[0];
  REQUIRE(set->caption_key(0) == set->caption_key(other));
  REQUIRE(set->caption_key(0) != set->caption_key(other + 1));
  REQUIRE(set->captions(4).empty());
  const auto tokenizer = WordPieceTokenizer::Create(Read("vocab.txt"), {/*lowercase=*/true});
  REQUIRE(tokenizer.ok());
  std::vector<int32_t> expected = *(*tokenizer)->Encode("red fish");
  expected.insert(expected.begin(), (*tokenizer)->cls_id());
  expected.push_back((*tokenizer)->sep_id());
  REQUIRE(set->tokens(0) == expected);
  REQUIRE(set->vocabulary_size() == (*tokenizer)->vocabulary_size());
}

TEST_CASE_METHOD(Fixture, "held-out captions and bad pictures' teach the vocabulary nothing") {
  REQUIRE(Run().ok());
  REQUIRE(Vocabulary().count("fish") == 1);
  REQUIRE(Vocabulary().count("zebra") == 0);
  REQUIRE(Vocabulary().count("broken") == 0);
  // They would be tokens otherwise.
  corpus.Add("item/3", Picture(6), {{"en", "zebra zebra zebra"}});
  REQUIRE(Run().ok());
  REQUIRE(Vocabulary().count("zebra") == 1);
}

TEST_CASE_METHOD(Fixture, "a near duplicate goes where the smallest id goes") {
  // "item/2458" is held out by its own id; its twin comes before it and is not.
  corpus.Add("item/1429", Picture(4));
  REQUIRE(Run().ok());
  const std::vector<nlohmann::json> items = Items();
  REQUIRE(items[2]["item_id"] == "item/1429");
  REQUIRE(items[4]["item_id"] == "item/2458");
  REQUIRE(items[4]["group"] == 2);
  REQUIRE(items[2]["split"] == "validation");
  REQUIRE(items[4]["split"] == "validation");
}

TEST_CASE_METHOD(Fixture, "a split that the corpus says holds, and binds near duplicates") {
  // By their ids they would be to learn from.
  corpus.Add("item/3", Picture(6), {}, Split::kHeldOut);
  corpus.Add("item/4", Picture(6));
  corpus.Add("item/5", Picture(7), {}, Split::kValidation);
  corpus.Add("item/6", Picture(7), {}, Split::kTrain);
  REQUIRE(Run().ok());
  std::map<std::string, std::string> splits;
  std::map<std::string, int64_t> groups;
  for (const nlohmann::json& item : Items()) {
    splits[item["item_id"]] = item["split"];
    groups[item["item_id"]] = item["group"];
  }
  REQUIRE(splits["item/3"] == "held_out");
  REQUIRE(splits["item/4"] == "held_out");
  REQUIRE(splits["item/5"] == "validation");
  REQUIRE(splits["item/6"] == "train");
  // No group is in two splits, or the set would be refused.
  REQUIRE(groups["item/3"] == groups["item/4"]);
  REQUIRE(groups["item/5"] != groups["item/6"]);
  REQUIRE(Set()->group(groups["item/6"]) == groups["item/6"]);
}

TEST_CASE_METHOD(Fixture, "companions that their own set holds out are not learnt from") {
  MemoryCorpus companions;
  companions.Add("b/1", Picture(7), {{"en", "red fish"}}, Split::kHeldOut);
  companions.Add("b/2", Picture(8), {{"en", "red fish"}}, Split::kValidation);
  companions.Add("b/3", Picture(9), {{"en", "red fish"}}, Split::kTrain);
  Progress progress(Silent(), Clock::Real());
  const auto summary = PrepareJob(options, CorporaOf(corpus), &progress, CorporaOf(companions))
                           .Run(CallContext::Unbounded());
  REQUIRE(summary.ok());
  REQUIRE(summary->companions == 1);
  REQUIRE(summary->refused_companions == 2);
  REQUIRE_THAT(Read(kSkippedFile), Catch::Contains("is held_out in its own set"));
}

TEST_CASE_METHOD(Fixture, "pictures without captions are learnt by name where it is asked for") {
  corpus.Add("item/wren", Picture(6));  // held out
  REQUIRE(Run().ok());
  REQUIRE(Set()->captions(4).empty());

  options.learn_names = true;
  const auto summary = Run();
  REQUIRE(summary.ok());
  const auto set = Set();
  REQUIRE(set->captions(4).size() == 1);  // item/nothing
  REQUIRE(set->captions(5).empty());
  REQUIRE(summary->named_items == 1);
  REQUIRE(summary->splits[static_cast<size_t>(Split::kTrain)].captioned_items == 2);
  REQUIRE(Items()[4]["captions"].empty());
}

TEST_CASE_METHOD(Fixture, "concepts are tokenised; those with fewer than two texts are left out") {
  const auto without = Run();
  REQUIRE(without.ok());
  options.vocabulary = Read("vocab.txt");
  options.concepts = {{"red fish", "a fish that is red", "Red Fish!"},
                      {"swimming", "???"},          // one text that has words
                      {"frog", "Frog"},             // one text, twice
                      {"zebra", "green and red"}};  // of words that no caption may teach
  const auto summary = Run();
  REQUIRE(summary.ok());
  REQUIRE(summary->concepts == 2);
  REQUIRE(absl::StrContains(summary->Report(), "concepts    2; 2 left out"));
  REQUIRE(summary->token_count == without->token_count);  // of captions alone
  const auto set = Set();
  REQUIRE(set->concept_count() == 2);
  REQUIRE(set->texts(0).size() == 3);  // "!" is a token
  REQUIRE(set->text_tokens(0) == set->tokens(0));
  REQUIRE(set->texts(1).size() == 2);
}

TEST_CASE_METHOD(Fixture, "words of concepts are in the vocabulary where there is room") {
  options.vocabulary_size = 3000;
  options.concepts = {{"wombat", "a wombat"}};
  REQUIRE(Run().ok());
  REQUIRE(Vocabulary().count("wombat") == 1);
}

TEST_CASE_METHOD(Fixture, "companions are learnt from, change no split and give nothing away") {
  REQUIRE(Run().ok());
  const std::vector<nlohmann::json> before = Items();
  MemoryCorpus companions;
  companions.Add("another/item/104", Picture(7), {{"en", "red fish"}});
  companions.Add("another/item/2458", Picture(8), {{"en", "zebra"}});  // named for a held-out one
  companions.Add("another/twin", Picture(3), {{"en", "frog"}});        // of a validation picture
  companions.Add("an/item", Picture(9), {{"en", "blue boat"}});
  Progress progress(Silent(), Clock::Real());
  const auto summary = PrepareJob(options, CorporaOf(corpus), &progress, CorporaOf(companions))
                           .Run(CallContext::Unbounded());
  INFO(summary.status());
  REQUIRE(summary.ok());
  REQUIRE(summary->companions == 2);
  REQUIRE(summary->refused_companions == 2);

  std::map<std::string, std::string> splits;
  const std::vector<nlohmann::json> items = Items();
  const auto set = Set();
  for (size_t row = 0; row < items.size(); ++row) {
    splits[items[row]["item_id"]] = items[row]["split"];
    REQUIRE(items[row]["group"] == row);
    REQUIRE(set->group(row) == static_cast<int64_t>(row));
  }
  REQUIRE(splits.size() == before.size() + 2);
  for (const nlohmann::json& item : before) REQUIRE(splits[item["item_id"]] == item["split"]);
  REQUIRE(splits["another/item/104"] == "train");
  REQUIRE(splits["an/item"] == "train");
  const std::string skipped = Read(kSkippedFile);
  REQUIRE(absl::StrContains(skipped, "is named for item/2458"));
  REQUIRE(absl::StrContains(skipped, "is a near duplicate of item/1112"));
}

TEST_CASE_METHOD(Fixture, "bad pictures are told and left out") {
  const auto summary = Run();
  REQUIRE(summary.ok());
  REQUIRE(summary->skipped_count == 1);
  const nlohmann::json skipped = nlohmann::json::parse(Read(kSkippedFile));
  REQUIRE(skipped["item_id"] == "item/broken");
  REQUIRE(skipped["path"] == "/pictures/item/broken");
  REQUIRE_FALSE(skipped["reason"].get<std::string>().empty());
}

TEST_CASE_METHOD(Fixture, "only bad pictures are a failure, and so are none") {
  MemoryCorpus bad;
  bad.Add("a", "no picture");
  corpus = bad;
  const absl::Status all_bad = Run().status();
  REQUIRE(absl::IsFailedPrecondition(all_bad));
  REQUIRE(absl::StrContains(all_bad.message(), "all 1 pictures are bad"));
  corpus = MemoryCorpus();
  REQUIRE(absl::IsFailedPrecondition(Run().status()));
}

TEST_CASE_METHOD(Fixture, "two items of one id are refused") {
  std::vector<std::unique_ptr<CorpusReader>> corpora = CorporaOf(corpus);
  corpora.push_back(std::make_unique<MemoryCorpus>(corpus));
  Progress progress(Silent(), Clock::Real());
  const auto summary =
      PrepareJob(options, std::move(corpora), &progress).Run(CallContext::Unbounded());
  REQUIRE(absl::IsInvalidArgument(summary.status()));
  REQUIRE(absl::StrContains(summary.status().message(), "item/104"));
}

// A corpus without pictures.
class RegionCorpus : public MemoryCorpus {
 public:
  int region_feature_size() const override { return 2048; }
};

TEST_CASE_METHOD(Fixture, "a corpus of regions is refused") {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::make_unique<RegionCorpus>());
  Progress progress(Silent(), Clock::Real());
  const auto summary =
      PrepareJob(options, std::move(corpora), &progress).Run(CallContext::Unbounded());
  REQUIRE(absl::IsInvalidArgument(summary.status()));
  REQUIRE(absl::StrContains(summary.status().message(), "no pictures to prepare"));
}

TEST_CASE_METHOD(Fixture, "a vocabulary that is given is taken as it is") {
  options.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfish\nred\n";
  const auto summary = Run();
  REQUIRE(summary.ok());
  REQUIRE(Read("vocab.txt") == options.vocabulary);
  REQUIRE(Set()->tokens(0) == absl::Span<const int32_t>({2, 6, 5, 3}));
  REQUIRE(summary->unknown_token_count > 0);
  options.vocabulary = "fish\n";
  REQUIRE(absl::IsInvalidArgument(Run().status()));
}

TEST_CASE_METHOD(Fixture, "long captions are cut and captions without a word left out") {
  const int64_t cut_before = Run()->cut_caption_count;
  corpus.Add("item/long", Picture(6), {{"en", "!?"}, {"en", "a b c d e f g h i j k l m n o p"}});
  const auto summary = Run();
  REQUIRE(summary.ok());
  const auto set = Set();
  REQUIRE(set->captions(4).size() == 1);
  REQUIRE(set->tokens(set->captions(4)[0]).size() == 8);
  REQUIRE(summary->wordless_caption_count == 1);
  REQUIRE(summary->cut_caption_count == cut_before + 1);
  REQUIRE(Items()[4]["captions"].size() == 2);
}

TEST_CASE_METHOD(Fixture, "the summary counts") {
  const auto summary = Run();
  REQUIRE(summary.ok());
  const auto& train = summary->splits[static_cast<size_t>(Split::kTrain)];
  const auto& held_out = summary->splits[static_cast<size_t>(Split::kHeldOut)];
  REQUIRE(train.captioned_items == 2);
  REQUIRE(held_out.items >= 1);
  REQUIRE(held_out.captioned_items == 1);
  REQUIRE(summary->captions == std::vector<std::pair<std::string, int64_t>>{{"en", 5}, {"de", 1}});
  REQUIRE(summary->unknown_token_count == 0);
  REQUIRE(summary->largest_groups.empty());
  REQUIRE(absl::StrContains(summary->Report(), "5 in 5 groups, 4 with captions; 1 skipped"));
}

TEST_CASE_METHOD(Fixture, "the set names the files beside it, and running again changes nothing") {
  REQUIRE(Run().ok());
  REQUIRE(Set()->vocabulary_sha256() == Sha256Hex(Read("vocab.txt")));
  REQUIRE(Set()->items_sha256() == Sha256Hex(Read(kItemsFile)));
  const std::string before = Read(kTrainingSetFile);
  REQUIRE(WriteFileAtomically(Path("pictures.spool.x.tmp"), "left by a run that was killed").ok());
  options.threads = 1;
  REQUIRE(Run().ok());
  REQUIRE(Read(kTrainingSetFile) == before);
  REQUIRE(*ListDirectory(options.out) ==
          std::vector<std::string>{"cache.container", "items.jsonl", "skipped.jsonl", "vocab.txt"});
}

TEST_CASE_METHOD(Fixture, "a run that is cancelled while reading leaves the folder as it was") {
  REQUIRE(Run().ok());
  const std::string before = Read(kTrainingSetFile);
  const CallContext call = CallContext::Unbounded();
  corpus.Add("item/new", Picture(6));
  corpus.OnRead([&] { call.cancellation()->Cancel(); });
  REQUIRE(absl::IsCancelled(Run(call).status()));
  REQUIRE(Read(kTrainingSetFile) == before);
  REQUIRE(ListDirectory(options.out)->size() == 4);
}

TEST_CASE_METHOD(Fixture, "a folder whose files cannot be written is never a whole one") {
  REQUIRE(Run().ok());
  // A folder stands where the list of items is to be written.
  std::filesystem::remove(Path(kItemsFile));
  REQUIRE(MakeDirectories(Path(absl::StrCat(kItemsFile, "/x"))).ok());
  REQUIRE_FALSE(Run().ok());
  REQUIRE_FALSE(FileExists(Path(kTrainingSetFile)));
}

}  // namespace
}  // namespace sightline
