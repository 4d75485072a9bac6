#include "services/sightlinectl/small_command.h"

#include <array>
#include <iterator>

#include "services/sightlinectl/add_model_command.h"
#include "services/sightlinectl/describe_command.h"
#include "services/sightlinectl/generation_commands.h"
#include "services/sightlinectl/large_commands.h"
#include "services/sightlinectl/query_command.h"
#include "services/sightlinectl/read_commands.h"
#include "services/sightlinectl/status_command.h"

namespace sightline {
namespace {

// While it compiles: at run time the table would ask for what its commands run.
constexpr auto kLargeNames = [] {
  std::array<absl::string_view, std::size(kLargeCommands)> names = {};
  for (size_t i = 0; i < names.size(); ++i) names[i] = kLargeCommands[i].name;
  return names;
}();

}  // namespace

std::vector<Command> SmallCommands() {
  return {kQueryCommand,    kScoreCommand, kStatusCommand, kDescribeCommand, kPublishCommand,
          kRollbackCommand, kPruneCommand, kVerifyCommand, kFetchCommand,    kAddModelCommand};
}

Program SmallSightlinectl() {
  return {"sightlinectl",
          "asks, inspects and publishes.",
          SmallCommands(),
          {kLargeNames.begin(), kLargeNames.end()},
          "the whole one is in the image `sightline`, and is built as //services/sightlinectl"};
}

}  // namespace sightline
