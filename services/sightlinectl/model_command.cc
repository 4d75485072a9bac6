#include "services/sightlinectl/model_command.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/named_bundle.h"
#include "common/config/table.h"
#include "common/dataset/open_corpus.h"
#include "common/dataset/vocabulary_texts.h"
#include "common/models/init_model.h"
#include "common/tokenizer/vocabulary_maker.h"

namespace sightline {
namespace {

struct InitFlags {
  std::string store, vocabulary, weights_of, config;
  std::vector<std::string> weights_from;
  std::vector<WeightsSource> sources;  // of weights_from, or the one of weights_of
  InitOptions options;
};

// PATH,OLD=NEW,... of the flag.
absl::StatusOr<WeightsSource> ParseSource(absl::string_view flag, const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  WeightsSource source;
  source.path = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t mark = parts[i].find('=');
    if (mark == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " ", text, ": \"", parts[i],
                                                     "\" is not OLD=NEW, what names begin with"));
    }
    source.renames.emplace_back(parts[i].substr(0, mark), parts[i].substr(mark + 1));
  }
  return source;
}

// What was taken of others is told.
ModelBundle Told(const BorrowedModel& borrowed, const std::string& others, const Console& console) {
  console.err << borrowed.taken << " tensors are those of " << others << "; drawn: "
              << (borrowed.drawn.empty() ? "none" : absl::StrJoin(borrowed.drawn, ", ")) << "\n";
  return borrowed.bundle;
}

absl::StatusOr<ModelBundle> WriteInitialModel(const InitFlags& flags, const Console& console) {
  ASSIGN_OR_RETURN(const bundle::v1::ModelBundleManifest manifest, ReadModelConfig(flags.config));
  if (!flags.weights_of.empty()) {
    const WeightsSource& source = flags.sources.front();
    ASSIGN_OR_RETURN(const ModelBundle other, OpenNamedBundle(flags.store, source.path));
    ASSIGN_OR_RETURN(const BorrowedModel borrowed,
                     InitModelFrom(other, flags.store, manifest, flags.options, source.renames));
    return Told(borrowed, other.directory, console);
  }
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(flags.vocabulary, limits::kMaxVocabularyBytes));
  if (flags.weights_from.empty()) {
    return InitModel(flags.store, manifest, vocabulary, flags.options);
  }
  ASSIGN_OR_RETURN(const BorrowedModel borrowed,
                   InitModelFrom(flags.sources, flags.store, manifest, vocabulary, flags.options));
  return Told(borrowed, absl::StrJoin(flags.weights_from, " and "), console);
}

struct VocabularyFlags {
  std::string out, kind = "wordpiece";
  std::vector<std::string> texts, corpora;
  VocabularyOptions options;
  absl::optional<int64_t> min_count;
  bool cased = false;
};

Flags DefineFlags(VocabularyFlags* values) {
  Flags flags;
  flags.String("out", "FILE", "file to write", &values->out);
  flags.String("kind", "NAME",
               "wordpiece, clip_bpe, sentencepiece (XLM-R's) or word_list (SGRAF's); default "
               "wordpiece",
               &values->kind);
  flags.Strings("text", "FILE",
                "plain text, gzipped or not, a caption or sentence a line; repeatable",
                &values->texts);
  flags.Strings("corpus", "KIND",
                "English captions of stamps, clipart, emoji, folder:DIR, regions:FILE, npz:DIR or "
                "a published set, karpathy:FILE,splits=train+restval; repeatable, or with commas "
                "between",
                &values->corpora);
  flags.Int("size", "most tokens; default 8000", 100, 1000000, &values->options.max_size);
  flags.Int("min-count",
            "how often a word, or a pair of pieces, has to be there; default 2, of a word_list 4",
            1, 1 << 30, &values->min_count);
  flags.Switch("cased", "of wordpiece: keep capitals and accents", &values->cased);
  return flags;
}

absl::StatusOr<std::unique_ptr<VocabularyMaker>> MakerOf(const VocabularyFlags& flags) {
  ASSIGN_OR_RETURN(const TokenizerKind kind, Within("--kind", ParseTokenizerKind(flags.kind)));
  VocabularyOptions options = flags.options;
  options.lowercase = !flags.cased;
  options.min_count = flags.min_count.value_or(UsualMinCount(kind));
  return Within("--kind", NewVocabularyMaker(kind, options));
}

absl::StatusOr<std::vector<CorpusSpec>> CorporaOf(const VocabularyFlags& flags) {
  std::vector<CorpusSpec> all;
  for (const std::string& list : flags.corpora) {
    ASSIGN_OR_RETURN(const std::vector<CorpusSpec> specs, ParseCorpora(list));
    all.insert(all.end(), specs.begin(), specs.end());
  }
  return all;
}

absl::StatusOr<MadeVocabulary> MakeFrom(const VocabularyFlags& flags,
                                        const std::vector<CorpusSpec>& specs,
                                        VocabularyMaker* maker) {
  for (const std::string& path : flags.texts) {
    RETURN_IF_ERROR(AddLines(path, maker).status());
  }
  for (const CorpusSpec& spec : specs) {
    ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
    RETURN_IF_ERROR(
        AddCaptions(*corpus, /*leave_out_held_out=*/false, CallContext::Unbounded(), maker)
            .status());
  }
  return maker->Make();
}

}  // namespace

int RunInitModel(const std::vector<std::string>& args, const Console& console) {
  InitFlags values;
  bool float32 = false;
  Flags flags;
  flags.String("store", "DIR", "store to write to", &values.store);
  flags.String("vocabulary", "FILE",
               "vocabulary of the kind that --config says; make-vocabulary makes one",
               &values.vocabulary);
  flags.String(
      "weights-of", "MODEL,OLD=NEW,...",
      "in place of --vocabulary: id of a bundle in --store, or a bundle's folder, whose "
      "vocabulary is taken, and whose weights wherever names and shapes are the same, after "
      "names that begin with OLD begin with NEW",
      &values.weights_of);
  flags.Strings("weights-from", "PATH,OLD=NEW,...",
                "beside --vocabulary: checkpoint, as convert reads them, or bundle's folder, whose "
                "weights are taken wherever names and shapes are the same, after names that begin "
                "with OLD begin with NEW; repeatable, the first that has a tensor gives it",
                &values.weights_from);
  flags.String("config", "FILE",
               "JSON of a ModelBundleManifest without files; default: the demo's small OSCAR",
               &values.config);
  flags.Int("seed", "of the random weights; default 1", 0, INT64_MAX, &values.options.seed);
  flags.Switch("float32", "store weights in full, not half precision", &float32);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kInitModelCommand, &flags, args, console, &words, &status)) return status;
  const bool one_source = values.vocabulary.empty() != values.weights_of.empty();
  if (values.store.empty() || !one_source || !words.empty()) {
    return UsageError(kInitModelCommand,
                      "give --store DIR and either --vocabulary FILE or --weights-of MODEL",
                      console);
  }
  if (!values.weights_from.empty() && !values.weights_of.empty()) {
    return UsageError(kInitModelCommand,
                      "give --weights-of MODEL, or --weights-from PATH with --vocabulary FILE",
                      console);
  }
  const bool of_one = !values.weights_of.empty();
  for (const std::string& text :
       of_one ? std::vector<std::string>{values.weights_of} : values.weights_from) {
    absl::StatusOr<WeightsSource> source =
        ParseSource(of_one ? "weights-of" : "weights-from", text);
    if (!source.ok()) {
      return UsageError(kInitModelCommand, std::string(source.status().message()), console);
    }
    values.sources.push_back(*std::move(source));
  }
  values.options.dtype = float32 ? WeightDtype::kFloat32 : WeightDtype::kFloat16;
  const absl::StatusOr<ModelBundle> bundle = WriteInitialModel(values, console);
  if (!bundle.ok()) return Fail(bundle.status(), console);
  console.out << bundle->id << "\n";
  console.err << "written to " << bundle->directory << "\n";
  return kSuccess;
}

int RunMakeVocabulary(const std::vector<std::string>& args, const Console& console) {
  VocabularyFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kMakeVocabularyCommand, &flags, args, console, &words, &status)) {
    return status;
  }
  if (values.out.empty() || values.texts.size() + values.corpora.size() == 0 || !words.empty()) {
    return UsageError(kMakeVocabularyCommand, "give --out FILE and something to read", console);
  }
  auto maker = MakerOf(values);
  const auto specs = CorporaOf(values);
  const absl::Status usable = maker.ok() ? specs.status() : maker.status();
  if (!usable.ok()) {
    return UsageError(kMakeVocabularyCommand, std::string(usable.message()), console);
  }
  const absl::StatusOr<MadeVocabulary> made = MakeFrom(values, *specs, maker->get());
  if (!made.ok()) return Fail(made.status(), console);
  if (const absl::Status written = WriteFileAtomically(values.out, made->file); !written.ok()) {
    return Fail(written, console);
  }
  console.err << "wrote " << made->size << " tokens to " << values.out << ", from "
              << WithThousands((*maker)->word_count()) << " words\n";
  return kSuccess;
}

}  // namespace sightline
