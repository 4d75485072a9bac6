// The commands that make models and corpora, most of which need LibTorch, decoders of pictures and
// tables of Unicode, 500 MB of libraries.  Whoever only names them needs none.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_LARGE_COMMANDS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_LARGE_COMMANDS_H_

#include "services/sightlinectl/add_probes_command.h"
#include "services/sightlinectl/calibrate_command.h"
#include "services/sightlinectl/convert_command.h"
#include "services/sightlinectl/import_regions_command.h"
#include "services/sightlinectl/model_command.h"
#include "services/sightlinectl/reindex_command.h"

namespace sightline {

// In the order of the help.
inline constexpr Command kLargeCommands[] = {
    kInitModelCommand, kMakeVocabularyCommand, kConvertCommand, kImportRegionsCommand,
    kAddProbesCommand, kCalibrateCommand,      kReindexCommand};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_LARGE_COMMANDS_H_
