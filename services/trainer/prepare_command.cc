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
#include "common/rpc/shutdown_signals.h"
#include "services/trainer/model_config.h"
#include "services/trainer/prepare_job.h"
#include "services/trainer/text_list.h"

namespace sightline {
namespace {

constexpr int64_t kMaxTextListBytes = 1 << 30;

// What the command line says, as text.
struct PrepareFlags {
  std::string out, languages = "en,de,fr,es", model_config, vocabulary;
  std::vector<std::string> corpora, companions;
  absl::optional<int64_t> vocabulary_size, threads;
  std::string texts;
  bool learn_names = false;
};

Flags DefineFlags(PrepareFlags* values) {
  Flags flags;
  flags.String("out", "DIR", "folder to write; what an earlier run wrote is replaced",
               &values->out);
  flags.Strings("corpus", "KIND[:PATH]",
                "stamps, clipart, emoji, folder:PATH, or a published set, "
                "karpathy:FILE,images=DIR; repeatable, or with commas between; "
                "default stamps,clipart,emoji",
                &values->corpora);
  flags.Strings("learn-from", "KIND[:PATH]",
                "likewise: pictures that no index will hold, to learn from beside the others",
                &values->companions);
  flags.String("languages", "CODES",
               "of the captions, queries' language first; default en,de,fr,es", &values->languages);
  flags.String("model-config", "FILE",
               "JSON of a ModelBundleManifest without files; default: the demo's small OSCAR",
               &values->model_config);
  flags.String("vocabulary", "FILE", "take this WordPiece vocabulary instead of making one",
               &values->vocabulary);
  flags.Int("vocabulary-size", "most tokens of the vocabulary that is made; default 8000", 1000,
            1000000, &values->vocabulary_size);
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
  const std::vector<std::string> standard = {"stamps", "clipart", "emoji"};
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

absl::StatusOr<PrepareSummary> Prepare(const PrepareFlags& flags, const PreparePlan& plan,
                                       const Console& console) {
  PrepareOptions options;
  options.out = flags.out;
  options.languages = plan.languages;
  ASSIGN_OR_RETURN(options.model, ReadTrainableModelConfig(flags.model_config));
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
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  return PrepareJob(std::move(options), std::move(corpora), &progress, std::move(companions))
      .Run(call);
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
  const absl::StatusOr<PrepareSummary> summary = Prepare(values, *plan, console);
  if (absl::IsCancelled(summary.status())) {
    console.err << "interrupted; run the same command again\n";
    return kRunAgain;
  }
  if (!summary.ok()) return Fail(summary.status(), console);
  console.out << summary->Report();
  return kSuccess;
}

}  // namespace sightline
