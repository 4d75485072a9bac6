// `evaluator words` as typed, over sets, corpora and questions whose words are counted by hand.
#include "services/evaluator/words_command.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/model_bundle.h"
#include "common/tokenizer/wordpiece.h"
#include "common/training/training_set_writer.h"
#include "services/evaluator/word_tokenizer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

constexpr char kVocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nred\nfish\n##es\nblue\n-\ngrun\ngrün\nFish\n";

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunWords(args, {out, err});
  return {status, out.str(), err.str()};
}

// The line that begins with `word`, one space between its cells.
std::string Line(const Ran& ran, const std::string& word) {
  INFO(ran.err << ran.out);
  REQUIRE(ran.status == 0);
  for (const absl::string_view line : absl::StrSplit(ran.out, '\n')) {
    const std::string cells = absl::StrJoin(absl::StrSplit(line, ' ', absl::SkipEmpty()), " ");
    if (absl::StartsWith(cells, word + " ")) return cells;
  }
  return "no line";
}

// A folder with a vocabulary, a set of it and a corpus of the same captions.
class Rig {
 public:
  Rig() {
    Put("vocab.txt", kVocabulary);
    tokenizer_ = *WordPieceTokenizer::Create(kVocabulary, WordPieceOptions());
    content_.rows = {{TrainingUse::kTrain, 0, {Caption("A red fish.", 0), Caption("grün", 1)}},
                     {TrainingUse::kTrain, 1, {Caption("fish, fish and FISHES", 0)}},
                     {TrainingUse::kValidation, 2, {Caption("a blue fish", 0)}},
                     {TrainingUse::kHeldOut, 3, {Caption("blue", 0), Caption("fish", 1)}}};
    content_.concepts = {{Tokens("grun-a"), Tokens("red")}};
    content_.image_size = 2;
    content_.max_token_count = 16;
    content_.vocabulary_size = tokenizer_->vocabulary_size();
    content_.special_tokens = {0, 1, 2, 3, 4};
    content_.languages = {"en", "de"};
    content_.vocabulary_sha256 = Sha256Hex(kVocabulary);
    content_.items_sha256 = Sha256Hex("");
    Write();
    Put("c/captions.jsonl", R"({"path":"1","split":"train","captions":["A red fish."]}
{"path":"2","split":"train","captions":["fish and FISHES",{"language":"de","text":"grün"}]}
{"path":"3","split":"held_out","captions":["zebra"]}
)");
    for (const char* name : {"c/1", "c/2", "c/3"}) Put(name, "");
  }

  void Put(const std::string& name, const std::string& content) const {
    for (const char* folder : {"c", "regions"}) REQUIRE(MakeDirectories(dir_.File(folder)).ok());
    REQUIRE(WriteFileAtomically(dir_.File(name), content).ok());
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  const std::string& path() const { return dir_.path(); }
  nlohmann::json Json() const { return nlohmann::json::parse(*ReadFile(Path("json"))); }

 private:
  std::vector<int32_t> Tokens(const std::string& text) const {
    std::vector<int32_t> tokens = {2};
    const absl::StatusOr<std::vector<int32_t>> ids = tokenizer_->Encode(text);
    REQUIRE(ids.ok());
    tokens.insert(tokens.end(), ids->begin(), ids->end());
    tokens.push_back(3);
    return tokens;
  }
  TrainingCaption Caption(const std::string& text, int64_t language) const {
    TrainingCaption caption;
    caption.tokens = Tokens(text);
    caption.language = language;
    return caption;
  }
  void Write() const {
    const std::string picture(12, 'p');
    REQUIRE(WriteTrainingSet(Path("cache.container"), content_, [&](int64_t) {
              return absl::StatusOr<absl::string_view>(picture);
            }).ok());
  }

  TempDir dir_;
  std::unique_ptr<WordPieceTokenizer> tokenizer_;
  TrainingSetContent content_;
};

TEST_CASE("a word is one token, pieces or unknown") {
  const Rig rig;
  const Ran ran = Run({"--vocabulary", rig.Path("vocab.txt"), "red", "Fishes", "zebra", "t-fish"});
  REQUIRE(Line(ran, "red") == "red red one token");
  REQUIRE(Line(ran, "fishes") == "fishes fish ##es 2 pieces");
  REQUIRE(Line(ran, "zebra") == "zebra [UNK] unknown");
  // Punctuation parts words.
  REQUIRE(Line(ran, "t") == "t [UNK] unknown");
  REQUIRE(Line(ran, "-") == "- - one token");
  REQUIRE(Line(ran, "fish") == "fish fish one token");
}

TEST_CASE("case and accents count by the tokenizer's rules") {
  const Rig rig;
  const std::string vocabulary = rig.Path("vocab.txt");
  REQUIRE(Line(Run({"--vocabulary", vocabulary, "GRÜN"}), "grun") == "grun grun one token");
  const Ran cased = Run({"--vocabulary", vocabulary, "--cased", "grün", "Fish", "FISH"});
  REQUIRE(Line(cased, "grün") == "grün grün one token");
  REQUIRE(Line(cased, "Fish") == "Fish Fish one token");
  REQUIRE(Line(cased, "FISH") == "FISH [UNK] unknown");
}

TEST_CASE("captions of a set are counted by split and language, each once, whole words alone") {
  const Rig rig;
  const Ran ran = Run({"--set", rig.path(), "fish", "fishes", "blue", "GRÜN", "zebra", "red"});
  // Tokens, what it is, then train, validation, held out, texts.
  REQUIRE(Line(ran, "fish") == "fish fish one token 2 (en 2) 1 (en 1) 1 (de 1) 0");
  REQUIRE(Line(ran, "fishes") == "fishes fish ##es 2 pieces 1 (en 1) 0 0 0");
  REQUIRE(Line(ran, "blue") == "blue blue one token 0 1 (en 1) 1 (en 1) 0");
  REQUIRE(Line(ran, "grun") == "grun grun one token 1 (de 1) 0 0 1");
  REQUIRE(Line(ran, "zebra") == "zebra [UNK] unknown 0 0 0 0");
  REQUIRE(Line(ran, "red") == "red red one token 1 (en 1) 0 0 1");
  REQUIRE(Line(ran, "all") == "all captions 3 (en 2, de 1) 1 (en 1) 2 (de 1, en 1) 2");
}

TEST_CASE("captions of corpora are counted alike, unknown words by their letters") {
  const Rig rig;
  const std::vector<std::string> asked = {"--vocabulary", rig.Path("vocab.txt"), "--corpus",
                                          "folder:" + rig.Path("c")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return Run(more);
  };
  const Ran ran = with({"fish", "grün", "zebra", "yak", "and"});
  REQUIRE(Line(ran, "fish") == "fish fish one token 2 (en 2) 0 0 0");
  REQUIRE(Line(ran, "grun") == "grun grun one token 1 (de 1) 0 0 0");
  REQUIRE(Line(ran, "zebra") == "zebra [UNK] unknown 0 0 1 (en 1) 0");
  REQUIRE(Line(ran, "yak") == "yak [UNK] unknown 0 0 0 0");
  REQUIRE(Line(ran, "and") == "and [UNK] unknown 1 (en 1) 0 0 0");
  REQUIRE(Line(with({"--languages", "de", "fish", "grün"}), "fish") ==
          "fish fish one token 0 0 0 0");
}

TEST_CASE("of many languages those with the most captions are printed") {
  const Rig rig;
  std::string captions, codes;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&captions, i == 0 ? "" : ",", R"({"language":"l)", i, R"(","text":"red"})");
    absl::StrAppend(&codes, i == 0 ? "" : ",", "l", i);
  }
  rig.Put("c/captions.jsonl",
          absl::StrCat(R"({"path":"1","split":"train","captions":[)", captions, "]}\n"));
  const Ran ran = Run({"--vocabulary", rig.Path("vocab.txt"), "--corpus", "folder:" + rig.Path("c"),
                       "--languages", codes, "red"});
  REQUIRE(Line(ran, "red") ==
          "red red one token 8 (l0 1, l1 1, l2 1, l3 1, l4 1, l5 1, 2 more) 0 0 0");
}

TEST_CASE("the words of questions that training never showed are told") {
  const Rig rig;
  rig.Put("questions", R"({"query":"a Blue fish, blue","expect":["x"]}
{"query":"red fishes","expect":["x"]}
{"query":"a zebra","expect":["x"]}
)");
  const Ran ran =
      Run({"--set", rig.path(), "--unseen", rig.Path("questions"), "--json", rig.Path("json")});
  REQUIRE(Line(ran, "blue") == "blue a Blue fish, blue");
  REQUIRE(Line(ran, "zebra") == "zebra (unknown) a zebra");
  REQUIRE_THAT(ran.out, Contains("2 of 3 questions have a word that training never showed\n"));
  REQUIRE_THAT(ran.out, !Contains("red fishes"));
  const nlohmann::json json = rig.Json();
  REQUIRE(json["questions"].size() == 3);
  REQUIRE(json["questions"][0]["unseen"].size() == 1);
  REQUIRE(json["questions"][0]["unseen"][0]["word"] == "blue");
  REQUIRE(json["questions"][1]["unseen"].empty());
}

TEST_CASE("the JSON has everything") {
  const Rig rig;
  REQUIRE(Run({"--set", rig.path(), "--json", rig.Path("json"), "fishes", "blue"}).status == 0);
  const nlohmann::json json = rig.Json();
  REQUIRE(json["format_version"] == 1);
  REQUIRE(json["all"]["captions"]["held_out"] == nlohmann::json({{"de", 1}, {"en", 1}}));
  REQUIRE(json["words"][0] == nlohmann::json({{"word", "fishes"},
                                              {"tokens", {"fish", "##es"}},
                                              {"unknown", false},
                                              {"captions",
                                               {{"train", {{"en", 1}}},
                                                {"validation", nlohmann::json::object()},
                                                {"held_out", nlohmann::json::object()}}},
                                              {"texts", 0},
                                              {"shown", true}}));
  REQUIRE(json["words"][1]["shown"] == false);
  REQUIRE_FALSE(json.contains("questions"));
}

TEST_CASE("a tokenizer of another kind tells words apart in its own way") {
  const TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("words.json"),
                              R"({"word2idx":{"<pad>":0,"<start>":1,"<end>":2,"<unk>":3,"fish":4},
                                  "idx2word":{"0":"<pad>","1":"<start>","2":"<end>","3":"<unk>",
                                  "4":"fish"},"idx":5})")
              .ok());
  ModelBundle bundle;
  bundle.directory = dir.path();
  bundle.manifest.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::WORD_LIST);
  bundle.manifest.mutable_tokenizer()->set_vocabulary_file("words.json");
  const absl::StatusOr<WordTokenizer> tokenizer = WordTokenizer::OfBundle(bundle);
  INFO(tokenizer.status());
  REQUIRE(tokenizer.ok());
  const auto words = tokenizer->Words("FISH fish zebra");
  REQUIRE(words.ok());
  REQUIRE((*words)[0].key == (*words)[1].key);
  REQUIRE((*words)[2].unknown);
  REQUIRE_FALSE(tokenizer->is_wordpiece());
}

TEST_CASE("files that are not there or do not belong together are exit status 1") {
  const Rig rig;
  const auto problem = [](const std::vector<std::string>& args) {
    const Ran ran = Run(args);
    REQUIRE(ran.status == 1);
    REQUIRE(ran.out.empty());
    return ran.err;
  };
  REQUIRE_THAT(problem({"--vocabulary", rig.Path("none"), "a"}), Contains("NOT_FOUND"));
  REQUIRE_THAT(problem({"--model", rig.Path("none"), "a"}),
               Contains("NOT_FOUND") && Contains("none' is no folder that is there"));
  const std::string id(64, 'a');
  REQUIRE_THAT(problem({"--model", id, "--store", rig.path(), "a"}),
               Contains("has no model bundle " + id));
  REQUIRE_THAT(problem({"--set", rig.Path("c"), "a"}), Contains("vocab.txt"));
  rig.Put("other", std::string(kVocabulary) + "more\n");
  REQUIRE_THAT(problem({"--vocabulary", rig.Path("other"), "--set", rig.path(), "a"}),
               Contains("the set was made with another vocabulary"));
  REQUIRE_THAT(problem({"--set", rig.path(), "a\xff"}), Contains("a word: ") && Contains("UTF-8"));
  REQUIRE_THAT(problem({"--set", rig.path(), " "}), Contains("' ' has no visible character"));
  rig.Put("questions", "{}");
  REQUIRE_THAT(problem({"--set", rig.path(), "--unseen", rig.Path("questions")}),
               Contains("line 1: \"query\" is missing"));
  rig.Put("regions/vocab.txt", kVocabulary);
  REQUIRE_THAT(problem({"--set", rig.Path("regions"), "a"}),
               Contains("has a vocabulary alone") && Contains("--corpus in place of --set"));
  rig.Put("cache.container", "nonsense");
  REQUIRE_THAT(problem({"--set", rig.path(), "a"}), Contains("cache.container"));
}

TEST_CASE("a wrong command line is exit status 2 and says what is wrong") {
  const auto refused = [](const std::vector<std::string>& args, const std::string& text) {
    const Ran ran = Run(args);
    INFO(ran.err);
    REQUIRE(ran.status == 2);
    REQUIRE_THAT(ran.err, Contains(text) && Contains("usage: evaluator words"));
  };
  refused({"--set", "s"}, "give words, or --unseen");
  refused({"a"}, "give --model MODEL or --vocabulary FILE");
  refused({"--corpus", "folder:f", "a"}, "give --model MODEL or --vocabulary FILE");
  refused({"--model", "m", "--vocabulary", "v", "a"}, "leave out --vocabulary");
  refused({"--model", "m", "--cased", "a"}, "leave out --vocabulary and --cased");
  refused({"--vocabulary", "v", "--store", "s", "a"}, "--store is for a --model by its id");
  refused({"--model", "folder", "--store", "s", "a"}, "--store is for a --model by its id");
  refused({"--model", std::string(64, 'a'), "a"}, "--store has to say in which store");
  refused({"--set", "s", "--corpus", "folder:f", "a"}, "--set and --corpus say the same");
  refused({"--set", "s", "--languages", "en", "a"}, "--languages are of --corpus");
  refused({"--vocabulary", "v", "--unseen", "q"}, "--unseen: give --set or --corpus");
}

}  // namespace
}  // namespace sightline
