// trainer train: a training set in, a model bundle out.
#ifndef SIGHTLINE_SERVICES_TRAINER_TRAIN_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_TRAIN_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunTrain(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kTrainCommand = {
    "train", "trainer train [--config FILE] [flags]",
    "Trains a model on what `prepare` has written; started again, it continues.", RunTrain};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_TRAIN_COMMAND_H_
