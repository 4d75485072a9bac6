// What a job has published.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_PUBLISHED_FILES_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_PUBLISHED_FILES_H_

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"

namespace sightline {

// Everything that is published in `store`, by path; without what a run that was killed
// leaves half written, which nobody reads, and without the times at which CURRENT left what.
inline std::map<std::string, std::string> PublishedFiles(const std::string& store) {
  std::map<std::string, std::string> files;
  const std::string root = store + "/indexes";
  const std::vector<std::string> names = *ListFilesBelow(root);
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".tmp")) continue;
    if (absl::StrContains(name, ".publishing")) continue;
    std::string& content = files[name] = *ReadFile(JoinPath(root, name));
    if (!absl::EndsWith(name, "/CURRENT")) continue;
    static const auto* const kTime = new std::regex("\"leave_?[Tt]ime\": *\"[^\"]*\"");
    content = std::regex_replace(content, *kTime, "\"leave_time\": \"\"");
  }
  return files;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_PUBLISHED_FILES_H_
