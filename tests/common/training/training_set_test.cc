#include "common/training/training_set.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/training/training_set_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Rows = std::vector<int64_t>;

constexpr int64_t kSide = 2;

// Ids of the special tokens are 0 to 4.
TrainingCaption Caption(std::vector<int32_t> pieces, int64_t key, int64_t language = 0) {
  TrainingCaption caption;
  caption.tokens = {2};
  caption.tokens.insert(caption.tokens.end(), pieces.begin(), pieces.end());
  caption.tokens.push_back(3);
  caption.key = key;
  caption.language = language;
  return caption;
}

// Six rows: two captioned ones to learn from, a distractor, a validation row and its
// distractor, and one held out.
TrainingSetContent Content() {
  TrainingSetContent content;
  content.rows = {
      {TrainingUse::kTrain, 0, {Caption({5, 6}, 0), Caption({7}, 1, 1)}},
      {TrainingUse::kTrain, 1, {}},
      {TrainingUse::kTrain, 0, {Caption({8}, 1)}},
      {TrainingUse::kValidation, 3, {Caption({9}, 2)}},
      {TrainingUse::kValidation, 4, {}},
      {TrainingUse::kHeldOut, 5, {Caption({5}, 3)}},
  };
  content.concepts = {{{2, 5, 3}, {2, 6, 7, 3}}, {{2, 8, 3}, {2, 9, 3}, {2, 5, 5, 3}}};
  content.image_size = kSide;
  content.max_token_count = 8;
  content.vocabulary_size = 10;
  content.special_tokens = {0, 1, 2, 3, 4};
  content.languages = {"en", "de"};
  content.vocabulary_sha256 = Sha256Hex("vocabulary");
  content.items_sha256 = Sha256Hex("items");
  return content;
}

// Row 4 shows what row 3 shows.
std::string PictureOf(int64_t row) {
  return std::string(3 * kSide * kSide, static_cast<char>(200 + (row == 4 ? 3 : row)));
}

class Fixture {
 public:
  std::string Write(const TrainingSetContent& content) {
    const std::string path = dir_.File("cache.container");
    std::string bytes;
    REQUIRE(WriteTrainingSet(path, content, [&](int64_t row) -> absl::StatusOr<absl::string_view> {
              bytes = PictureOf(row);
              return absl::string_view(bytes);
            }).ok());
    return path;
  }

  std::unique_ptr<TrainingSet> Open(const TrainingSetContent& content) {
    auto set = TrainingSet::Open(Write(content));
    INFO(set.status());
    REQUIRE(set.ok());
    return *std::move(set);
  }

 private:
  TempDir dir_;
};

TEST_CASE_METHOD(Fixture, "what was written is read") {
  const auto set = Open(Content());
  REQUIRE(set->row_count() == 6);
  REQUIRE(set->caption_count() == 5);
  REQUIRE(set->image_size() == kSide);
  REQUIRE(set->picture_bytes() == 12);
  for (int64_t row = 0; row < 6; ++row) {
    REQUIRE(std::string(reinterpret_cast<const char*>(set->picture(row)), 12) == PictureOf(row));
  }
  REQUIRE(set->use(4) == TrainingUse::kValidation);
  REQUIRE(set->group(2) == 0);
  REQUIRE(set->captions(0).size() == 2);
  REQUIRE(set->captions(1).empty());
  REQUIRE(set->captions(2)[0] == 2);
  REQUIRE(set->tokens(0) == absl::Span<const int32_t>({2, 5, 6, 3}));
  REQUIRE(set->tokens(4) == absl::Span<const int32_t>({2, 5, 3}));
  REQUIRE(set->language(1) == 1);
  REQUIRE(set->caption_key(1) == set->caption_key(2));
  REQUIRE(set->concept_count() == 2);
  REQUIRE(set->texts(0).size() == 2);
  REQUIRE(set->texts(1)[0] == 2);
  REQUIRE(set->texts(1).size() == 3);
  REQUIRE(set->text_tokens(1) == absl::Span<const int32_t>({2, 6, 7, 3}));
  REQUIRE(set->text_tokens(4) == absl::Span<const int32_t>({2, 5, 5, 3}));
  REQUIRE(set->languages() == std::vector<std::string>{"en", "de"});
  REQUIRE(set->max_token_count() == 8);
  REQUIRE(set->vocabulary_size() == 10);
  REQUIRE(set->special_tokens().mask == 4);
  REQUIRE(set->vocabulary_sha256() == Sha256Hex("vocabulary"));
  REQUIRE(set->items_sha256() == Sha256Hex("items"));
}

TEST_CASE_METHOD(Fixture, "only rows that may be learnt from are handed out") {
  const auto set = Open(Content());
  REQUIRE(set->CaptionedRows(/*with_validation=*/false) == Rows{0, 2});
  REQUIRE(set->CaptionedRows(/*with_validation=*/true) == Rows{0, 2, 3});
  REQUIRE(set->DistractorRows(/*with_validation=*/false) == Rows{1});
  REQUIRE(set->DistractorRows(/*with_validation=*/true) == Rows{1, 4});
  REQUIRE(set->RowsOf(TrainingUse::kValidation) == Rows{3, 4});
  REQUIRE(set->RowsOf(TrainingUse::kHeldOut) == Rows{5});
}

TEST_CASE_METHOD(Fixture, "equal pictures have equal keys") {
  const auto set = Open(Content());
  REQUIRE(set->picture_key(4) == 3);
  REQUIRE(set->picture_key(5) == 5);
}

TEST_CASE_METHOD(Fixture, "equal content gives equal bytes") {
  const std::string first = *ReadFile(Write(Content()));
  REQUIRE(*ReadFile(Write(Content())) == first);
}

TEST_CASE_METHOD(Fixture, "a picture of another length is refused and nothing is left") {
  TempDir dir;
  const absl::Status status =
      WriteTrainingSet(dir.File("set"), Content(), [](int64_t) { return absl::string_view("ab"); });
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(ListDirectory(dir.path())->empty());
}

TEST_CASE_METHOD(Fixture, "a truncated file is DATA_LOSS") {
  const std::string path = Write(Content());
  const std::string whole = *ReadFile(path);
  for (size_t length = 0; length < whole.size(); length += 997) {
    REQUIRE(WriteFileAtomically(path, whole.substr(0, length)).ok());
    REQUIRE(absl::IsDataLoss(TrainingSet::Open(path).status()));
  }
}

TEST_CASE_METHOD(Fixture, "a changed byte of a picture is DATA_LOSS") {
  const std::string path = Write(Content());
  std::string bytes = *ReadFile(path);
  const size_t place = bytes.find(PictureOf(2));
  REQUIRE(place != std::string::npos);
  bytes[place] ^= 1;
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  const absl::Status status = TrainingSet::Open(path).status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(absl::StrContains(status.message(), "pictures"));
}

// A well-formed container whose numbers contradict each other.
struct Lie {
  std::string section;  // that the message names
  std::function<void(TrainingSetContent&)> tell;
};

TEST_CASE_METHOD(Fixture, "numbers that contradict each other are DATA_LOSS, naming the section") {
  const std::vector<Lie> lies = {
      {"pictures", [](auto& c) { c.image_size = 0; }},
      {"split", [](auto& c) { c.rows[0].use = static_cast<TrainingUse>(3); }},
      {"split", [](auto& c) { c.rows[0].use = static_cast<TrainingUse>(-1); }},
      {"split", [](auto& c) { c.rows[2].use = TrainingUse::kHeldOut; }},  // not its group's
      {"group", [](auto& c) { c.rows[1].group = -1; }},
      {"group", [](auto& c) { c.rows[1].group = 6; }},
      {"group", [](auto& c) { c.rows[0].group = 1; }},  // a later row
      {"group", [](auto& c) { c.rows[4].group = 2; }},  // no first row
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens.clear(); }},
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens.assign(9, 2); }},
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens[1] = 10; }},
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens[1] = -1; }},
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens.back() = 5; }},
      {"tokens/captions", [](auto& c) { c.rows[0].captions[0].tokens.front() = 5; }},
      {"texts/concepts", [](auto& c) { c.concepts[0].pop_back(); }},
      {"tokens/texts", [](auto& c) { c.concepts[1][2].clear(); }},
      {"tokens/texts", [](auto& c) { c.concepts[1][2].assign(9, 2); }},
      {"tokens/texts", [](auto& c) { c.concepts[1][2][1] = 10; }},
      {"tokens/texts", [](auto& c) { c.concepts[1][2].back() = 5; }},
      {"language", [](auto& c) { c.rows[0].captions[1].language = 2; }},
      {"language", [](auto& c) { c.rows[0].captions[0].language = -1; }},
      {"language", [](auto& c) { std::swap(c.rows[0].captions[0], c.rows[0].captions[1]); }},
      {"caption_key", [](auto& c) { c.rows[5].captions[0].key = -1; }},
      {"max_token_count", [](auto& c) { c.max_token_count = 0; }},
      {"max_token_count", [](auto& c) { c.max_token_count = int64_t{1} << 40; }},
      {"vocabulary_size", [](auto& c) { c.vocabulary_size = -1; }},
      {"special_tokens", [](auto& c) { c.special_tokens.mask = 10; }},
      {"special_tokens", [](auto& c) { c.special_tokens.pad = -1; }},
      {"vocabulary_sha256", [](auto& c) { c.vocabulary_sha256 = "no digest"; }},
      {"items_sha256", [](auto& c) { c.items_sha256.clear(); }},
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    TrainingSetContent content = Content();
    lies[i].tell(content);
    INFO("lie " << i << " about " << lies[i].section);
    if (lies[i].section == "pictures") {
      TempDir dir;
      // Not even the writer takes that.
      REQUIRE_FALSE(WriteTrainingSet(dir.File("set"), content, [](int64_t) {
                      return absl::string_view("");
                    }).ok());
      continue;
    }
    const absl::Status status = TrainingSet::Open(Write(content)).status();
    INFO(status);
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(absl::StrContains(status.message(), absl::StrCat("section ", lies[i].section, " ")));
  }
}

// Sections by hand, for what the writer cannot say.
void WriteSections(const std::string& path, const std::string& changed,
                   const std::vector<int64_t>& numbers) {
  Fixture fixture;
  const std::string from = fixture.Write(Content());
  const auto container = Container::Map(from);
  REQUIRE(container.ok());
  auto writer = ContainerWriter::Create(path);
  REQUIRE(writer.ok());
  std::vector<std::string> data;
  for (const Section& section : (*container)->sections()) {
    std::vector<int64_t> shape = section.shape;
    data.emplace_back(section.data, section.length);
    if (section.name == changed) {
      shape = {static_cast<int64_t>(numbers.size())};
      data.back().assign(reinterpret_cast<const char*>(numbers.data()), 8 * numbers.size());
    }
    REQUIRE((*writer)->Declare(section.name, section.dtype, shape).ok());
  }
  for (const std::string& bytes : data) REQUIRE((*writer)->Append(bytes).ok());
  REQUIRE((*writer)->Finish().ok());
}

TEST_CASE("offsets that lie are DATA_LOSS") {
  TempDir dir;
  const std::string path = dir.File("set");
  // The true ones are {0, 2, 2, 3, 4, 4, 5} and {0, 4, 7, 10, 13, 16}; of concepts {0, 2, 5}
  // and {0, 3, 7, 10, 13, 17}.
  const std::vector<std::pair<std::string, std::vector<int64_t>>> lies = {
      {"captions/items", {0, 2, 2, 3, 4, 4, 6}},
      {"captions/items", {1, 2, 2, 3, 4, 4, 5}},
      {"captions/items", {0, 2, 7, 3, 4, 4, 5}},
      {"captions/items", {0, -2, 2, 3, 4, 4, 5}},
      {"captions/items", {0, 2, 3, 4, 5}},
      {"captions/items", {}},
      {"tokens/captions", {0, 4, 7, 10, 13, 17}},
      {"tokens/captions", {0, 4, 99, 10, 13, 16}},
      {"tokens/captions", {0, 4, 7, 10, 16}},
      {"texts/concepts", {0, 2, 6}},
      {"texts/concepts", {0, 6, 5}},
      {"texts/concepts", {}},
      {"tokens/texts", {0, 3, 7, 10, 13, 18}},
      {"tokens/texts", {}},
      {"split", {0, 0, 0}},
      {"group", {}},
      {"image_size", {3}},
      {"image_size", {}},
      {"image_size", {int64_t{1} << 62}},
      {"special_tokens", {0, 1, 2, 3}},
      {"caption_key", {0, 1}},
  };
  for (const auto& [section, numbers] : lies) {
    INFO(section);
    WriteSections(path, section, numbers);
    const absl::Status status = TrainingSet::Open(path).status();
    INFO(status);
    REQUIRE(absl::IsDataLoss(status));
  }
  WriteSections(path, "split", {0, 0, 0, 1, 1, 2});
  REQUIRE(TrainingSet::Open(path).ok());
}

TEST_CASE("a file that is not there is NOT_FOUND") {
  TempDir dir;
  REQUIRE(absl::IsNotFound(TrainingSet::Open(dir.File("nothing")).status()));
}

}  // namespace
}  // namespace sightline
