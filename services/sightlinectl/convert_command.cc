#include "services/sightlinectl/convert_command.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/models/convert/convert.h"
#include "common/models/convert/ensemble.h"
#include "common/models/script_bundle.h"
#include "services/sightlinectl/model_text.h"

namespace sightline {
namespace {

struct Arguments {
  ConvertOptions convert;
  WriteOptions write;
  std::string out;
  std::string store;
  std::string ensemble;
  std::string scripts;
};

void DefineFlags(Arguments* arguments, Flags* flags) {
  ConvertOptions& convert = arguments->convert;
  flags->String("out", "DIR", "store to write to", &arguments->out);
  flags->String("vocab", "FILE", "vocab.txt, SentencePiece model or JSON of SGRAF's words",
                &convert.vocabulary);
  flags->String("config", "FILE", "config.json; default: the one beside the checkpoint",
                &convert.config);
  flags->String("family", "NAME",
                "uniter, lightningdot, oscar, vldeformer, m3p or sgraf; default: told by the "
                "tensors",
                &convert.family);
  flags->String("use", "KIND", "of oscar and m3p: cross-encoder, bi-encoder or joint",
                &convert.use);
  flags->String("score-kind", "KIND", "rank_raw, softmax_match or logit_match",
                &convert.score_kind);
  flags->Switch("scene-text", "the lightningdot reads the text in pictures", &convert.scene_text);
  flags->Int("heads", "attention heads, if config.json does not tell", 1, 4096,
             &convert.head_count);
  flags->Int("max-tokens", "most tokens of a text; a vldeformer's fixed length", 3, 512,
             &convert.max_token_count);
  flags->Int("tag-tokens", "most tokens of an oscar's text and tags; a vldeformer's tags", 3, 512,
             &convert.tag_token_count);
  flags->Int("tag-padding-type", "segment of a vldeformer's padded tags; default 0", 0, 1,
             &convert.tag_padding_type);
  flags->Int("regions", "most regions of an image; a vldeformer's fixed number", 1, 1024,
             &convert.region_count);
  flags->Int("cells", "K of T-EMDE", 1, 4096, &convert.cell_count);
  flags->String("description", "TEXT", "one line for people", &convert.description);
  flags->Switch("half", "store weights in half precision", &arguments->write.half);
  flags->String("ensemble", "ID,ID", "models whose mean score is a model", &arguments->ensemble);
  flags->String("scripts", "DIR", "scripted modules, their vocabulary and manifest.json",
                &arguments->scripts);
  flags->String("store", "DIR", "store that an ensemble's members lie in, and go to without --out",
                &arguments->store);
}

absl::StatusOr<ModelBundle> Convert(const Arguments& arguments, const Console& console) {
  ASSIGN_OR_RETURN(const Conversion conversion, ConvertCheckpoint(arguments.convert));
  for (const std::string& warning : conversion.warnings) {
    console.err << "warning: " << Printable(warning, 0) << "\n";
  }
  return WriteConversion(arguments.out, conversion, arguments.write);
}

absl::StatusOr<ModelBundle> Combine(const Arguments& arguments) {
  const std::string& store = arguments.store.empty() ? arguments.out : arguments.store;
  const std::string& out = arguments.out.empty() ? arguments.store : arguments.out;
  return MakeEnsemble(store, absl::StrSplit(arguments.ensemble, ','), out,
                      arguments.convert.description);
}

// Whether it is one of the three uses, with nothing of another.
bool IsWhole(const Arguments& arguments, const std::vector<std::string>& words) {
  const bool has_vocabulary = !arguments.convert.vocabulary.empty();
  if (!arguments.scripts.empty()) {
    return words.empty() && !arguments.out.empty() && arguments.store.empty() &&
           arguments.ensemble.empty() && !has_vocabulary && !arguments.write.half &&
           arguments.convert.description.empty();
  }
  if (!arguments.ensemble.empty()) {
    return words.empty() && !(arguments.out + arguments.store).empty() && !has_vocabulary &&
           !arguments.write.half;
  }
  return words.size() == 1 && has_vocabulary && !arguments.out.empty() && arguments.store.empty();
}

}  // namespace

int RunConvert(const std::vector<std::string>& args, const Console& console) {
  Arguments arguments;
  Flags flags;
  DefineFlags(&arguments, &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kConvertCommand, &flags, args, console, &words, &status)) return status;
  if (!IsWhole(arguments, words)) {
    return UsageError(kConvertCommand,
                      "give one checkpoint, --vocab FILE and --out DIR; or --ensemble ID,ID and "
                      "--store DIR; or --scripts DIR and --out DIR",
                      console);
  }
  if (!words.empty()) arguments.convert.checkpoint = words[0];
  const absl::StatusOr<ModelBundle> bundle =
      !arguments.scripts.empty()    ? BundleScripts(arguments.scripts, arguments.out)
      : !arguments.ensemble.empty() ? Combine(arguments)
                                    : Convert(arguments, console);
  if (!bundle.ok()) return Fail(bundle.status(), console);
  console.out << bundle->id << "\n";
  console.err << AlignedLines(ModelLines(bundle->manifest)) << "written to " << bundle->directory
              << "\n";
  return kSuccess;
}

}  // namespace sightline
