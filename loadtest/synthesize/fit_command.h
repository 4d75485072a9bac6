// `synthesize fit`: a store's embeddings in, the shape of synthetic ones out.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_FIT_COMMAND_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_FIT_COMMAND_H_

#include <string>
#include <vector>

#include "common/base/call_context.h"
#include "common/config/command.h"

namespace sightline {

// `args` are those behind "fit".  Returns the exit status; stops when `call` ends.
int RunFit(const std::vector<std::string>& args, const Console& console, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_FIT_COMMAND_H_
