// `init-model` and `make-vocabulary`: a model to begin with.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunInitModel(const std::vector<std::string>& args, const Console& console);
int RunMakeVocabulary(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kInitModelCommand = {
    "init-model",
    "sightlinectl init-model --store DIR (--vocabulary FILE | --weights-of MODEL) [--config FILE] "
    "[--seed N]",
    "writes a model bundle with random weights and prints its id", RunInitModel};
inline constexpr Command kMakeVocabularyCommand = {
    "make-vocabulary",
    "sightlinectl make-vocabulary --out FILE [--kind NAME] [--text FILE]... [--corpus KIND]...",
    "makes a vocabulary of texts or of a corpus's captions", RunMakeVocabulary};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_COMMAND_H_
