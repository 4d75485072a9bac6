#include "services/evaluator/words_command.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/named_bundle.h"
#include "common/dataset/caption_rule.h"
#include "common/dataset/open_corpus.h"
#include "common/evaluation/questions.h"
#include "common/training/training_set.h"
#include "services/evaluator/shown_words.h"
#include "services/evaluator/word_tokenizer.h"
#include "services/evaluator/words_report.h"

namespace sightline {
namespace {

// As `trainer prepare` names it.
constexpr char kTrainingSetFile[] = "cache.container";
constexpr int64_t kMaxQuestionsBytes = int64_t{64} << 20;

struct WordsFlags {
  std::string model, store, vocabulary, set, unseen, json;
  std::vector<std::string> corpora, languages;
  bool cased = false;

  void Define(Flags* flags) {
    flags->String("model", "MODEL",
                  "a bundle's id in --store, or its folder: its tokenizer tells words apart",
                  &model);
    flags->String("store", "DIR", "whose models/ has the bundle", &store);
    flags->String("vocabulary", "FILE", "or a vocab.txt of WordPiece; default: that of the set",
                  &vocabulary);
    flags->Switch("cased", "case and accents count for that vocabulary", &cased);
    flags->String("set", "DIR", "a training set that `trainer prepare` wrote", &set);
    flags->Strings(
        "corpus", "KIND[:PATH]",
        "or corpora, as `trainer prepare` takes them; repeatable, or with commas between",
        &corpora);
    flags->Strings("languages", "CODE,...", "of the corpora's captions; default en,de,fr,es",
                   &languages);
    flags->String("unseen", "QUESTIONS.jsonl",
                  "tell which words of these questions training never showed", &unseen);
    flags->String("json", "FILE", "write everything there, too", &json);
  }

  // What is wrong with them, or nothing.
  std::string Problem(const std::vector<std::string>& words) const {
    if (words.empty() && unseen.empty()) return "give words, or --unseen QUESTIONS.jsonl";
    if (!model.empty() && (!vocabulary.empty() || cased)) {
      return "--model says how words are told apart; leave out --vocabulary and --cased";
    }
    if (model.empty() && vocabulary.empty() && set.empty()) {
      return "give --model MODEL or --vocabulary FILE";
    }
    if (!store.empty() && !IsSha256Hex(model)) return "--store is for a --model by its id";
    if (store.empty() && IsSha256Hex(model)) {
      return "--model is an id: --store has to say in which store";
    }
    if (!set.empty() && !corpora.empty()) return "--set and --corpus say the same; give one";
    if (corpora.empty() && !languages.empty()) return "--languages are of --corpus; give that";
    if (set.empty() && corpora.empty() && !unseen.empty()) {
      return "--unseen: give --set or --corpus, which say what was shown";
    }
    return "";
  }
};

absl::StatusOr<WordTokenizer> OpenTokenizer(const WordsFlags& flags) {
  if (!flags.model.empty()) {
    ASSIGN_OR_RETURN(const ModelBundle bundle,
                     OpenNamedBundle(flags.store, flags.model, /*verify_checksums=*/false));
    return WordTokenizer::OfBundle(bundle);
  }
  const std::string own = JoinPath(flags.set, kVocabularyFile);
  return WordTokenizer::OfVocabulary(flags.vocabulary.empty() ? own : flags.vocabulary,
                                     /*lowercase=*/!flags.cased);
}

absl::StatusOr<std::vector<CorpusSpec>> Corpora(const WordsFlags& flags) {
  std::vector<std::string> languages;
  for (const std::string& list : flags.languages) {
    for (const absl::string_view code : absl::StrSplit(list, ',')) languages.emplace_back(code);
  }
  if (languages.empty()) languages = {"en", "de", "fr", "es"};  // as `trainer prepare` does
  std::vector<CorpusSpec> specs;
  for (const std::string& text : flags.corpora) {
    ASSIGN_OR_RETURN(std::vector<CorpusSpec> some, ParseCorpora(text));
    for (CorpusSpec& spec : some) {
      spec.languages = languages;
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

// All words of a command line or of the questions, and what their captions say of them.
class WordsRun {
 public:
  WordsRun(const WordsFlags& flags, WordTokenizer tokenizer, const Console& console)
      : flags_(flags), tokenizer_(std::move(tokenizer)), console_(console) {}

  absl::StatusOr<WordsReport> Run(const std::vector<std::string>& words) {
    WordsReport report;
    for (const std::string& word : words) RETURN_IF_ERROR(AddWord(word, &report));
    RETURN_IF_ERROR(ReadQuestions(&report));
    if (flags_.set.empty() && flags_.corpora.empty()) return report;
    report.shown.emplace(keys_);
    RETURN_IF_ERROR(flags_.set.empty() ? AddCorpora(&*report.shown) : AddSet(&*report.shown));
    for (WordsReport::Question& question : report.questions) KeepUnseen(*report.shown, &question);
    return report;
  }

 private:
  absl::Status AddWord(const std::string& text, WordsReport* report) {
    ASSIGN_OR_RETURN(std::vector<TokenizedWord> words, Within("a word", tokenizer_.Words(text)));
    if (words.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' has no visible character"));
    }
    for (TokenizedWord& word : words) {
      keys_.insert(word.key);
      report->words.push_back(std::move(word));
    }
    return absl::OkStatus();
  }

  absl::Status ReadQuestions(WordsReport* report) {
    if (flags_.unseen.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(flags_.unseen, kMaxQuestionsBytes));
    ASSIGN_OR_RETURN(const std::vector<Question> questions,
                     Within(flags_.unseen, ParseQuestions(text)));
    for (const Question& question : questions) {
      WordsReport::Question own{question.query, {}};
      ASSIGN_OR_RETURN(own.unseen, Within(flags_.unseen, tokenizer_.Words(question.query)));
      for (const TokenizedWord& word : own.unseen) keys_.insert(word.key);
      report->questions.push_back(std::move(own));
    }
    return absl::OkStatus();
  }

  // Of all its words but punctuation; each once.
  static void KeepUnseen(const ShownWords& shown, WordsReport::Question* question) {
    std::vector<TokenizedWord> unseen;
    std::set<std::string> told;
    for (TokenizedWord& word : question->unseen) {
      if (NormalizeWords(word.text).empty() || shown.of(word.key).Shown()) continue;
      if (!told.insert(word.key).second) continue;
      unseen.push_back(std::move(word));
    }
    question->unseen = std::move(unseen);
  }

  absl::Status AddSet(ShownWords* shown) const {
    const std::string path = JoinPath(flags_.set, kTrainingSetFile);
    if (!FileExists(path) && FileExists(JoinPath(flags_.set, kVocabularyFile))) {
      return absl::InvalidArgumentError(absl::StrCat(
          flags_.set,
          " has a vocabulary alone, as of a model that reads regions; give the corpora "
          "that it learnt from as --corpus in place of --set, and this as --vocabulary"));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<TrainingSet> set, TrainingSet::Open(path));
    return Within(flags_.set, shown->AddSet(*set, tokenizer_));
  }

  absl::Status AddCorpora(ShownWords* shown) const {
    ASSIGN_OR_RETURN(const std::vector<CorpusSpec> specs, Corpora(flags_));
    for (const CorpusSpec& spec : specs) {
      ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
      ASSIGN_OR_RETURN(const CorpusListing listing, corpus->List());
      if (!listing.rejected.empty()) {
        console_.err << CorpusKindName(spec.kind) << ": " << listing.rejected.size()
                     << " items were left out; the first: " << listing.rejected.front().reason
                     << "\n";
      }
      shown->AddListing(listing, tokenizer_);
    }
    return absl::OkStatus();
  }

  const WordsFlags& flags_;
  const WordTokenizer tokenizer_;
  const Console& console_;
  std::set<std::string> keys_;
};

absl::StatusOr<WordsReport> Report(const WordsFlags& flags, const std::vector<std::string>& words,
                                   const Console& console) {
  ASSIGN_OR_RETURN(WordTokenizer tokenizer, OpenTokenizer(flags));
  return WordsRun(flags, std::move(tokenizer), console).Run(words);
}

}  // namespace

int RunWords(const std::vector<std::string>& args, const Console& console) {
  WordsFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kWordsCommand, &definitions, args, console, &words, &status)) return status;
  const std::string problem = flags.Problem(words);
  if (!problem.empty()) return UsageError(kWordsCommand, problem, console);
  const absl::StatusOr<WordsReport> report = Report(flags, words, console);
  if (!report.ok()) return Fail(report.status(), console);
  console.out << WordsText(*report);
  if (flags.json.empty()) return kSuccess;
  const absl::Status written = WriteFileAtomically(flags.json, WordsJson(*report));
  return written.ok() ? kSuccess : Fail(written, console);
}

}  // namespace sightline
