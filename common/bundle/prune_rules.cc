#include "common/bundle/prune_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/bundle/layout.h"

namespace sightline {

using bundle::v1::CurrentGeneration;
using bundle::v1::Publication;

absl::Status CheckPruneOptions(const PruneOptions& options) {
  if (options.keep < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("keep is ", options.keep, "; the present generation always stays"));
  }
  if (options.grace < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("grace is ", absl::FormatDuration(options.grace), ", which is negative"));
  }
  return absl::OkStatus();
}

bool HasPassed(absl::Time since, absl::Duration duration, absl::Time now) {
  return std::max(now - since, absl::ZeroDuration()) >= duration;
}

std::set<std::string> PublishedGenerations(const CurrentGeneration& current) {
  std::set<std::string> published = {current.generation()};
  for (const Publication& publication : current.previous()) {
    published.insert(publication.generation());
  }
  return published;
}

std::set<std::string> StayingGenerations(const CurrentGeneration& current, absl::Time changed,
                                         const PruneOptions& options, absl::Time now) {
  std::set<std::string> staying = {current.generation()};
  for (const Publication& publication : current.previous()) {
    if (static_cast<int>(staying.size()) >= options.keep) break;
    if (!publication.rolled_back()) staying.insert(publication.generation());
  }
  for (const Publication& publication : current.previous()) {
    absl::Time left;
    if (!absl::ParseTime(absl::RFC3339_full, publication.leave_time(), &left, nullptr)) {
      left = changed;
    }
    if (!HasPassed(left, options.grace, now)) staying.insert(publication.generation());
  }
  return staying;
}

std::string AsideName(absl::string_view generation, absl::Time now) {
  return absl::StrCat(absl::ToUnixSeconds(now), "-", generation);
}

absl::optional<Aside> ParseAside(const std::string& name) {
  const size_t dash = name.find('-');
  int64_t seconds = 0;
  if (dash == std::string::npos || !absl::SimpleAtoi(name.substr(0, dash), &seconds)) {
    return absl::nullopt;
  }
  std::string generation = name.substr(dash + 1);
  if (!IsValidName(generation, limits::kMaxGenerationNameLength)) return absl::nullopt;
  return Aside{name, std::move(generation), absl::FromUnixSeconds(seconds)};
}

}  // namespace sightline
