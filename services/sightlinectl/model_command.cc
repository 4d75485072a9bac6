#include "services/sightlinectl/model_command.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/dataset/open_corpus.h"
#include "common/models/init_model.h"
#include "common/tokenizer/vocabulary_builder.h"

namespace sightline {
namespace {

absl::StatusOr<ModelBundle> WriteInitialModel(const std::string& store,
                                              const std::string& vocabulary_path,
                                              const std::string& config_path,
                                              const InitOptions& options) {
  ASSIGN_OR_RETURN(const bundle::v1::ModelBundleManifest manifest, ReadModelConfig(config_path));
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(vocabulary_path, limits::kMaxVocabularyBytes));
  return InitModel(store, manifest, vocabulary, options);
}

absl::Status AddTextFile(const std::string& path, VocabularyBuilder* builder) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  int64_t line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (const absl::Status added = builder->Add(line); !added.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line_number, ": ", added.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status AddCorpus(const CorpusSpec& spec, VocabularyBuilder* builder) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> reader, OpenCorpus(spec));
  ASSIGN_OR_RETURN(const CorpusListing listing, reader->List());
  for (const CorpusItem& item : listing.items) {
    for (const CorpusCaption& caption : item.captions) {
      RETURN_IF_ERROR(builder->Add(caption.text));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int RunInitModel(const std::vector<std::string>& args, const Console& console) {
  std::string store, vocabulary, config;
  InitOptions options;
  bool float32 = false;
  Flags flags;
  flags.String("store", "DIR", "store to write to", &store);
  flags.String("vocabulary", "FILE", "WordPiece vocabulary, one token a line", &vocabulary);
  flags.String("config", "FILE",
               "JSON of a ModelBundleManifest without files; default: the demo's small OSCAR",
               &config);
  flags.Int("seed", "of the random weights; default 1", 0, INT64_MAX, &options.seed);
  flags.Switch("float32", "store weights in full, not half precision", &float32);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kInitModelCommand, &flags, args, console, &words, &status)) return status;
  if (store.empty() || vocabulary.empty() || !words.empty()) {
    return UsageError(kInitModelCommand, "give --store DIR and --vocabulary FILE", console);
  }
  options.dtype = float32 ? WeightDtype::kFloat32 : WeightDtype::kFloat16;
  const absl::StatusOr<ModelBundle> bundle = WriteInitialModel(store, vocabulary, config, options);
  if (!bundle.ok()) return Fail(bundle.status(), console);
  console.out << bundle->id << "\n";
  console.err << "written to " << bundle->directory << "\n";
  return kSuccess;
}

int RunMakeVocabulary(const std::vector<std::string>& args, const Console& console) {
  std::string out;
  std::vector<std::string> texts, corpora;
  VocabularyOptions options;
  bool cased = false;
  Flags flags;
  flags.String("out", "FILE", "file to write", &out);
  flags.Strings("text", "FILE", "plain text, a caption or sentence a line; repeatable", &texts);
  flags.Strings("corpus", "KIND",
                "English captions of stamps, clipart, emoji, folder:DIR or a published set, "
                "karpathy:FILE,splits=train+restval; repeatable, or with commas between",
                &corpora);
  flags.Int("size", "most tokens; default 8000", 100, 1000000, &options.max_size);
  flags.Switch("cased", "keep capitals and accents", &cased);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kMakeVocabularyCommand, &flags, args, console, &words, &status)) {
    return status;
  }
  if (out.empty() || texts.size() + corpora.size() == 0 || !words.empty()) {
    return UsageError(kMakeVocabularyCommand, "give --out FILE and something to read", console);
  }
  options.lowercase = !cased;
  VocabularyBuilder builder(options);
  for (const std::string& path : texts) {
    if (const absl::Status added = AddTextFile(path, &builder); !added.ok()) {
      return Fail(added, console);
    }
  }
  for (const std::string& list : corpora) {
    const absl::StatusOr<std::vector<CorpusSpec>> specs = ParseCorpora(list);
    if (!specs.ok()) {
      return UsageError(kMakeVocabularyCommand, std::string(specs.status().message()), console);
    }
    for (const CorpusSpec& spec : *specs) {
      if (const absl::Status added = AddCorpus(spec, &builder); !added.ok()) {
        return Fail(added, console);
      }
    }
  }
  const absl::StatusOr<std::vector<std::string>> tokens = builder.Build();
  if (!tokens.ok()) return Fail(tokens.status(), console);
  std::string text;
  for (const std::string& token : *tokens) absl::StrAppend(&text, token, "\n");
  if (const absl::Status written = WriteFileAtomically(out, text); !written.ok()) {
    return Fail(written, console);
  }
  console.err << "wrote " << tokens->size() << " tokens to " << out << ", from "
              << WithThousands(builder.word_count()) << " words\n";
  return kSuccess;
}

}  // namespace sightline
