#include "services/sightlinectl/add_probes_command.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/model_probes.h"
#include "common/bundle/named_bundle.h"
#include "common/config/table.h"
#include "services/sightlinectl/stored_probes.h"

namespace sightline {
namespace {

struct Arguments {
  std::string store, model, index, questions;
  ProbeChoice choice;
  bool replace = false;
};

absl::StatusOr<ModelBundle> AddProbes(Arguments arguments, const Console& console) {
  ASSIGN_OR_RETURN(const ModelBundle model, OpenStoredBundle(arguments.store, arguments.model,
                                                             /*verify_checksums=*/false));
  if (HasProbes(model.manifest) && !arguments.replace) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", model.id, " has probes already; --replace takes others"));
  }
  if (!arguments.questions.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments.questions));
    ASSIGN_OR_RETURN(arguments.choice.questions, Within(arguments.questions, ParseQuestions(text)));
  }
  ASSIGN_OR_RETURN(const bundle::v1::ModelProbes probes,
                   GatherProbes(arguments.store, arguments.index, model, arguments.choice));
  const auto labelled =
      std::count_if(probes.texts().begin(), probes.texts().end(),
                    [](const auto& text) { return !text.relevant_items().empty(); });
  console.err << probes.texts_size() << " texts, " << labelled << " of which mean known items, and "
              << probes.items_size()
              << " items: " << WithThousands(static_cast<int64_t>(probes.ByteSizeLong()))
              << " bytes\n";
  return WithProbes(model, probes, arguments.store);
}

}  // namespace

int RunAddProbes(const std::vector<std::string>& args, const Console& console) {
  Arguments arguments;
  Flags flags;
  flags.String("store", "DIR", "store that holds the model and the index", &arguments.store);
  flags.String("model", "ID", "model to make another one of", &arguments.model);
  flags.String("index", "NAME", "published index of pictures, encoded with the model",
               &arguments.index);
  flags.String("questions", "FILE",
               "texts and the items that they mean, a JSON object a line with \"query\" and "
               "\"expect\"; default: captions of the items",
               &arguments.questions);
  flags.Int("items", "most items; default 40", kLeastProbeItems, kMostProbeItems,
            &arguments.choice.item_count);
  flags.Int("texts", "most texts; default 24", kLeastProbeTexts, kMostProbeTexts,
            &arguments.choice.text_count);
  flags.Switch("replace", "take the place of probes that the model has", &arguments.replace);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kAddProbesCommand, &flags, args, console, &words, &status)) return status;
  if (arguments.store.empty() || arguments.model.empty() || arguments.index.empty() ||
      !words.empty()) {
    return UsageError(kAddProbesCommand, "give --store DIR, --model ID and --index NAME", console);
  }
  const absl::StatusOr<ModelBundle> bundle = AddProbes(arguments, console);
  if (!bundle.ok()) return Fail(bundle.status(), console);
  console.out << bundle->id << "\n";
  console.err << "written to " << bundle->directory << "\nit computes what " << arguments.model
              << " does, but is another model to a store: encode with the new id what is to be "
                 "served with it\n";
  return kSuccess;
}

}  // namespace sightline
