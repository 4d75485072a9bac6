#include "services/sightlinectl/convert_command.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/models/convert/convert.h"
#include "common/models/ensemble/make_ensemble.h"
#include "common/models/torchscript/script_bundle.h"
#include "services/sightlinectl/model_text.h"

namespace sightline {
namespace {

struct Arguments {
  ConvertOptions convert;
  WriteOptions write;
  std::string confidence_floor;
  std::string out;
  std::string store;
  std::string ensemble;
  std::string scripts;
};

void DefineOut(Arguments* arguments, Flags* flags) {
  flags->String("out", "DIR", "store to write to", &arguments->out);
}

void DefineDescription(Arguments* arguments, Flags* flags) {
  flags->String("description", "TEXT", "one line for people", &arguments->convert.description);
}

// What images and the text in them are read by.
void DefineReading(Arguments* arguments, Flags* flags) {
  ConvertOptions& convert = arguments->convert;
  flags->Int("regions", "most regions of an image; a vldeformer's fixed number", 1,
             limits::kMaxModelRegions, &convert.region_count);
  flags->String("confidence-floor", "X",
                "a uniter or lightningdot reads regions surer than this; 0: all; default 0.2",
                &arguments->confidence_floor);
  flags->Int("min-regions", "so many of the first it reads whatever their confidence; default 10",
             0, limits::kMaxModelRegions, &convert.min_region_count);
  flags->Switch("scene-text", "the lightningdot reads the text in pictures", &convert.scene_text);
  flags->Int("ocr-tokens", "most wordpieces of the text in a picture; default 64", 1,
             limits::kMaxSceneTextTokens, &convert.scene_token_count);
  flags->Int("ocr-position", "position of the separator before them; default 1", 0,
             limits::kMaxPositions - 1, &convert.scene_position);
  flags->Int("ocr-type", "segment of both; default 0", 0, limits::kMaxTokenTypes - 1,
             &convert.scene_token_type);
  flags->Switch("lone-separator", "a picture without text has the separator",
                &convert.lone_separator);
}

// Of one checkpoint, but for those that others have too.
void DefineCheckpoint(Arguments* arguments, Flags* flags) {
  ConvertOptions& convert = arguments->convert;
  flags->String("vocab", "FILE", "vocab.txt, SentencePiece model or JSON of SGRAF's words",
                &convert.vocabulary);
  flags->String("config", "FILE", "config.json; default: the one beside the checkpoint",
                &convert.config);
  flags->String("family", "NAME",
                absl::StrCat("one of ", absl::StrJoin(ConvertedFamilies(), ", "),
                             "; default: told by the tensors"),
                &convert.family);
  flags->String("use", "KIND", "of oscar and m3p: cross-encoder, bi-encoder or joint",
                &convert.use);
  flags->String("score-kind", "KIND", "rank_raw, softmax_match or logit_match",
                &convert.score_kind);
  flags->Int("heads", "attention heads, if config.json does not tell", 1, limits::kMaxHeads,
             &convert.head_count);
  flags->Int("max-tokens", "most tokens of a text; a vldeformer's fixed length", 3,
             limits::kMaxTokens, &convert.max_token_count);
  flags->Int("tag-tokens",
             "most tokens of an oscar's text and tags, default --max-tokens, 0: no tags; a "
             "vldeformer's tags",
             0, limits::kMaxTokens, &convert.tag_token_count);
  flags->Int("tag-padding-type", "segment of a vldeformer's padded tags; default 0", 0, 1,
             &convert.tag_padding_type);
  DefineReading(arguments, flags);
  flags->Int("cells", "K of T-EMDE", 1, limits::kMaxCells, &convert.cell_count);
  flags->Switch("half", "store weights in half precision", &arguments->write.half);
}

void DefineEnsemble(Arguments* arguments, Flags* flags) {
  flags->String("ensemble", "ID,ID", "models whose mean score is a model", &arguments->ensemble);
  flags->String("store", "DIR", "store that an ensemble's members lie in, and go to without --out",
                &arguments->store);
}

void DefineScripts(Arguments* arguments, Flags* flags) {
  flags->String("scripts", "DIR", "scripted modules, their vocabulary and manifest.json",
                &arguments->scripts);
}

using Define = void (*)(Arguments*, Flags*);
constexpr Define kAll[] = {DefineOut, DefineCheckpoint, DefineDescription, DefineEnsemble,
                           DefineScripts};
constexpr Define kOfEnsembles[] = {DefineOut, DefineDescription, DefineEnsemble};
constexpr Define kOfScripts[] = {DefineOut, DefineScripts};

// Whether `args` are of these flags alone.
bool HasOnly(absl::Span<const Define> defines, const std::vector<std::string>& args) {
  Arguments arguments;
  Flags flags;
  for (const Define define : defines) define(&arguments, &flags);
  const auto words = flags.Parse(args);
  return words.ok() && words->empty();
}

absl::StatusOr<ModelBundle> Convert(const Arguments& arguments, const Console& console) {
  ASSIGN_OR_RETURN(const Conversion conversion, ConvertCheckpoint(arguments.convert));
  for (const std::string& warning : conversion.warnings) {
    console.err << "warning: " << Printable(warning, 0) << "\n";
  }
  absl::StatusOr<ModelBundle> written = WriteConversion(arguments.out, conversion, arguments.write);
  if (!absl::IsInvalidArgument(written.status())) return written;
  return absl::InvalidArgumentError(
      absl::StrCat(arguments.convert.checkpoint, ": ", written.status().message()));
}

absl::StatusOr<ModelBundle> Combine(const Arguments& arguments) {
  const std::string& store = arguments.store.empty() ? arguments.out : arguments.store;
  const std::string& out = arguments.out.empty() ? arguments.store : arguments.out;
  return MakeEnsemble(store, absl::StrSplit(arguments.ensemble, ','), out,
                      arguments.convert.description);
}

// What keeps it from being one of the three uses, with nothing of another; empty if nothing.
std::string Misuse(const Arguments& arguments, const std::vector<std::string>& words,
                   const std::vector<std::string>& args) {
  if (!arguments.scripts.empty()) {
    return HasOnly(kOfScripts, args) && !arguments.out.empty()
               ? ""
               : "--scripts DIR goes with --out DIR and nothing else";
  }
  if (!arguments.ensemble.empty()) {
    return HasOnly(kOfEnsembles, args) && !(arguments.out + arguments.store).empty()
               ? ""
               : "--ensemble ID,ID goes with --store DIR or --out DIR, --description, and nothing "
                 "else";
  }
  if (words.size() == 1 && !arguments.convert.vocabulary.empty() && !arguments.out.empty() &&
      arguments.store.empty()) {
    return "";
  }
  return "give one checkpoint, --vocab FILE and --out DIR; or --ensemble ID,ID and --store DIR; or "
         "--scripts DIR and --out DIR";
}

// Sets it from its text.  What is wrong with that; empty if nothing.
std::string SetConfidenceFloor(Arguments* arguments) {
  if (arguments->confidence_floor.empty()) return "";
  double floor = 0;
  if (!absl::SimpleAtod(arguments->confidence_floor, &floor) || !(floor >= 0 && floor <= 1)) {
    return absl::StrCat("--confidence-floor is '", arguments->confidence_floor,
                        "', must be a number from 0 to 1");
  }
  arguments->convert.confidence_floor = floor;
  return "";
}

}  // namespace

int RunConvert(const std::vector<std::string>& args, const Console& console) {
  Arguments arguments;
  Flags flags;
  for (const Define define : kAll) define(&arguments, &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kConvertCommand, &flags, args, console, &words, &status)) return status;
  std::string problem = Misuse(arguments, words, args);
  if (problem.empty()) problem = SetConfidenceFloor(&arguments);
  if (!problem.empty()) return UsageError(kConvertCommand, problem, console);
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
