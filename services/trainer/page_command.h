// `page`: a training run as plots.
#ifndef SIGHTLINE_SERVICES_TRAINER_PAGE_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_PAGE_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPageCommand(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPageCommand = {"page", "trainer page --run DIR [--out FILE]",
                                         "draws what a run has reported as a page of plots",
                                         RunPageCommand};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_PAGE_COMMAND_H_
