#include "services/sightlinectl/publish_command.h"

#include "common/bundle/generation.h"
#include "common/bundle/publication.h"

namespace sightline {

int RunPublish(const std::vector<std::string>& args, const Console& console) {
  std::string store;
  Flags flags;
  flags.String("store", "DIR", "store that holds the index", &store);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kPublishCommand, &flags, args, console, &words, &status)) return status;
  if (words.size() != 2 || store.empty()) {
    return UsageError(kPublishCommand, "give an index, a generation and --store DIR", console);
  }
  const auto current = PublishGeneration(store, words[0], words[1]);
  if (!current.ok()) return Fail(current.status(), console);
  console.out << words[0] << " is now " << current->generation() << " (sequence "
              << current->sequence() << ")\n";
  return kSuccess;
}

}  // namespace sightline
