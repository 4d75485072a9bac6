#include "services/sightlinectl/command.h"

#include "services/sightlinectl/add_model_command.h"
#include "services/sightlinectl/convert_command.h"
#include "services/sightlinectl/describe_command.h"
#include "services/sightlinectl/generation_commands.h"
#include "services/sightlinectl/import_regions_command.h"
#include "services/sightlinectl/model_command.h"
#include "services/sightlinectl/query_command.h"
#include "services/sightlinectl/status_command.h"

namespace sightline {

const std::vector<Command>& Commands() {
  static const auto* commands = new std::vector<Command>{
      kQueryCommand,         kScoreCommand,     kStatusCommand,         kDescribeCommand,
      kPublishCommand,       kRollbackCommand,  kPruneCommand,          kVerifyCommand,
      kAddModelCommand,      kInitModelCommand, kMakeVocabularyCommand, kConvertCommand,
      kImportRegionsCommand,
  };
  return *commands;
}

int RunCommand(const std::vector<std::string>& args, const Console& console) {
  return RunProgram({"sightlinectl", "asks, inspects and publishes.", Commands()}, args, console);
}

}  // namespace sightline
