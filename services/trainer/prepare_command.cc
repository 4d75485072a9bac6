#include "services/trainer/prepare_command.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/dataset/open_corpus.h"
#include "common/log/progress.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/rpc/shutdown_signals.h"
#include "services/trainer/model_config.h"
#include "services/trainer/prepare_job.h"
#include "services/trainer/text_list.h"
#include "services/trainer/vocabulary_job.h"

namespace sightline {
namespace {

constexpr int64_t kMaxTextListBytes = 1 << 30;

// What the command line says, as text.
struct PrepareFlags {
  std::string out, languages = "en,de,fr,es", model_config, vocabulary;
  std::vector<std::string> corpora, companions;
  std::vector<std::string> text_files;
  absl::optional<int64_t> vocabulary_size, min_count, threads;
  std::string texts;
  bool learn_names = false;
};

Flags DefineFlags(PrepareFlags* values) {
  Flags flags;
  flags.String("out", "DIR", "folder to write; what an earlier run wrote is replaced",
               &values->out);
  flags.Strings("corpus", "KIND[:PATH]",
                "stamps, clipart, emoji, folder:PATH, or a published set, "
                "karpathy:FILE,images=DIR; for a model that reads regions also regions:PATH and "
                "npz:PATH; repeatable, or with commas between; default stamps,clipart,emoji",
                &values->corpora);
  flags.Strings("learn-from", "KIND[:PATH]",
                "likewise: pictures that no index will hold, to learn from beside the others",
                &values->companions);
  flags.String("languages", "CODES",
               "of the captions, queries' language first; default en,de,fr,es", &values->languages);
  flags.String("model-config", "FILE",
               "JSON of a ModelBundleManifest without files; default: the demo's small OSCAR.  "
               "Without a grid_extractor it reads regions, and only its vocabulary is made",
               &values->model_config);
  flags.String("vocabulary", "FILE", "take this WordPiece vocabulary instead of making one",
               &values->vocabulary);
  flags.Int("vocabulary-size", "most tokens of the vocabulary that is made; default 8000", 1000,
            1000000, &values->vocabulary_size);
  flags.Strings("text", "FILE",
                "of a model that reads regions: captions, one a line, that the vocabulary is made "
                "of beside or without those of corpora; repeatable",
                &values->text_files);
  flags.Int("min-count",
            "of a model that reads regions: how often a word, or a pair of pieces, has to be "
            "there; default 2, of a word list 4",
            1, 1 << 30, &values->min_count);
  flags.Switch("learn-names", "pictures without captions are learnt by their files' names",
               &values->learn_names);
  flags.String("learn-texts", "FILE",
               "texts that say the same, JSON a line: words are learnt that no picture shows",
               &values->texts);
  flags.Int("threads", "that read and decode; default: the cores there are", 1, limits::kMaxThreads,
            &values->threads);
  return flags;
}

absl::StatusOr<std::vector<std::string>> ParseLanguages(const std::string& text) {
  const std::vector<std::string> languages = absl::StrSplit(text, ',', absl::SkipWhitespace());
  const std::set<std::string> distinct(languages.begin(), languages.end());
  if (languages.empty() || distinct.size() != languages.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--languages is '", text, "'; give one or more codes, none twice, with commas between"));
  }
  return languages;
}

// Each of `lists` as ParseCorpora of open_corpus.h reads it.
absl::StatusOr<std::vector<CorpusSpec>> ReadLists(const std::vector<std::string>& lists,
                                                  const std::vector<std::string>& languages) {
  std::vector<CorpusSpec> corpora;
  for (const std::string& list : lists) {
    ASSIGN_OR_RETURN(std::vector<CorpusSpec> specs, ParseCorpora(list));
    for (CorpusSpec& spec : specs) {
      spec.languages = languages;
      corpora.push_back(std::move(spec));
    }
  }
  return corpora;
}

// What the flags say of languages and corpora.
struct PreparePlan {
  std::vector<std::string> languages;
  std::vector<CorpusSpec> corpora, companions;
};

// InvalidArgument if they say nothing that can be done.
absl::StatusOr<PreparePlan> MakePlan(const PrepareFlags& flags) {
  PreparePlan plan;
  ASSIGN_OR_RETURN(plan.languages, ParseLanguages(flags.languages));
  std::vector<std::string> standard;
  if (flags.text_files.empty()) standard = {"stamps", "clipart", "emoji"};
  ASSIGN_OR_RETURN(plan.corpora,
                   ReadLists(flags.corpora.empty() ? standard : flags.corpora, plan.languages));
  ASSIGN_OR_RETURN(plan.companions, ReadLists(flags.companions, plan.languages));
  return plan;
}

absl::StatusOr<std::vector<std::unique_ptr<CorpusReader>>> OpenCorpora(
    const std::vector<CorpusSpec>& specs) {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  for (const CorpusSpec& spec : specs) {
    ASSIGN_OR_RETURN(std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
    corpora.push_back(std::move(corpus));
  }
  return corpora;
}

// InvalidArgument if a flag is given that means nothing to a model that learns from regions, or,
// unless `regions`, from pictures.
absl::Status CheckFlagsOf(bool regions, const PrepareFlags& flags) {
  const struct {
    bool regions;
    absl::string_view name;
    bool given;
  } of_one_kind[] = {
      {false, "--learn-from", !flags.companions.empty()},
      {false, "--learn-names", flags.learn_names},
      {false, "--learn-texts", !flags.texts.empty()},
      {false, "--vocabulary", !flags.vocabulary.empty()},
      {false, "--threads", flags.threads.has_value()},
      {true, "--text", !flags.text_files.empty()},
      {true, "--min-count", flags.min_count.has_value()},
  };
  for (const auto& flag : of_one_kind) {
    if (!flag.given || flag.regions == regions) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag.name, " is for a model that learns from ", flag.regions ? "regions" : "pictures",
        "; that of --model-config ", regions ? "has no" : "has a", " grid_extractor"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReportOfVocabulary(const PrepareFlags& flags, const PreparePlan& plan,
                                               bundle::v1::ModelBundleManifest model,
                                               const CallContext& call) {
  VocabularyJobOptions options;
  options.out = flags.out;
  options.min_count = flags.min_count;
  options.text_files = flags.text_files;
  if (VocabularySizeOf(model) > 0) {
    options.vocabulary_size = static_cast<int>(VocabularySizeOf(model));
  }
  options.vocabulary_size =
      static_cast<int>(flags.vocabulary_size.value_or(options.vocabulary_size));
  options.model = std::move(model);
  ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<CorpusReader>> corpora,
                   OpenCorpora(plan.corpora));
  ASSIGN_OR_RETURN(const VocabularySummary summary, PrepareVocabulary(options, corpora, call));
  return summary.Report();
}

absl::StatusOr<std::string> ReportOfTrainingSet(const PrepareFlags& flags, const PreparePlan& plan,
                                                bundle::v1::ModelBundleManifest model,
                                                const CallContext& call, const Console& console) {
  PrepareOptions options;
  options.out = flags.out;
  options.languages = plan.languages;
  options.model = std::move(model);
  if (!flags.vocabulary.empty()) {
    ASSIGN_OR_RETURN(options.vocabulary, ReadFile(flags.vocabulary, limits::kMaxVocabularyBytes));
  }
  options.vocabulary_size =
      static_cast<int>(flags.vocabulary_size.value_or(options.vocabulary_size));
  options.learn_names = flags.learn_names;
  if (!flags.texts.empty()) {
    ASSIGN_OR_RETURN(const std::string lines, ReadFile(flags.texts, kMaxTextListBytes));
    auto concepts = ParseTextList(lines);
    if (!concepts.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.texts, ": ", concepts.status().message()));
    }
    options.concepts = *std::move(concepts);
  }
  options.threads = static_cast<int>(flags.threads.value_or(UsableCores()));
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<CorpusReader>> corpora, OpenCorpora(plan.corpora));
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<CorpusReader>> companions,
                   OpenCorpora(plan.companions));

  Progress::Options progress_options;
  progress_options.terminal = ::isatty(STDERR_FILENO) == 1;
  progress_options.write = [&console](absl::string_view text) {
    console.err << text << std::flush;
  };
  Progress progress(progress_options, Clock::Real());
  PrepareJob job(std::move(options), std::move(corpora), &progress, std::move(companions));
  ASSIGN_OR_RETURN(const PrepareSummary summary, job.Run(call));
  return summary.Report();
}

// What was made, for people.
absl::StatusOr<std::string> Prepare(const PrepareFlags& flags, const PreparePlan& plan,
                                    const Console& console) {
  ASSIGN_OR_RETURN(bundle::v1::ModelBundleManifest model,
                   ReadCheckedModelConfig(flags.model_config));
  const bool regions = !model.has_grid_extractor();
  RETURN_IF_ERROR(CheckFlagsOf(regions, flags));
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  return regions ? ReportOfVocabulary(flags, plan, std::move(model), call)
                 : ReportOfTrainingSet(flags, plan, std::move(model), call, console);
}

}  // namespace

int RunPrepare(const std::vector<std::string>& args, const Console& console) {
  PrepareFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kPrepareCommand, &flags, args, console, &words, &status)) return status;
  if (values.out.empty() || !words.empty()) {
    return UsageError(kPrepareCommand, "give --out DIR", console);
  }
  const absl::StatusOr<PreparePlan> plan = MakePlan(values);
  if (!plan.ok()) {
    return UsageError(kPrepareCommand, std::string(plan.status().message()), console);
  }
  const absl::StatusOr<std::string> report = Prepare(values, *plan, console);
  if (absl::IsCancelled(report.status())) {
    console.err << "interrupted; run the same command again\n";
    return kRunAgain;
  }
  if (!report.ok()) return Fail(report.status(), console);
  console.out << *report;
  return kSuccess;
}

}  // namespace sightline
