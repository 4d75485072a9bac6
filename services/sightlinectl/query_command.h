// `query` and `score`: ask a router.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/command.h"
#include "common/embedding/score.h"

namespace sightline {

int RunQuery(const std::vector<std::string>& args, const Console& console);
int RunScore(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kQueryCommand = {
    "query", "sightlinectl query [TEXT] [--image FILE | --regions PLACE | --item ID] [flags]",
    "finds pictures from words, words from pictures, and what resembles a stored item", RunQuery};
inline constexpr Command kScoreCommand = {
    "score", "sightlinectl score TEXT --image FILE | --regions PLACE [flags]",
    "tells how well a text and a picture match, as the cross-encoder sees it", RunScore};

// "replace", "add_lambda:0.5", "norm_add_lambda:0.1".  InvalidArgument for anything else.
absl::StatusOr<Combination> ParseCombination(const std::string& text);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_COMMAND_H_
