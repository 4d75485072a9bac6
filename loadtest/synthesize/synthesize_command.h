// The program `synthesize`: flags in, a generation and a report out.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIZE_COMMAND_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIZE_COMMAND_H_

#include <string>
#include <vector>

#include "common/base/call_context.h"
#include "common/config/command.h"

namespace sightline {

// `args` without the program's name.  Progress goes to standard error, as a bar if
// `terminal`.  Returns the exit status; stops when `call` ends.
int RunSynthesize(const std::vector<std::string>& args, const Console& console, bool terminal,
                  const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIZE_COMMAND_H_
