#include "loadtest/scenario/query_source.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/base/utf8.h"
#include "common/evaluation/questions.h"
#include "loadtest/scenario/seeded_hash.h"

namespace sightline {
namespace {

constexpr uint64_t kShufflePurpose = 0x7175657279;

// Queries in the file's order, equal ones joined.
class DistinctQueries {
 public:
  absl::Status Add(std::string value, const std::vector<std::string>& known_items) {
    const auto [place, added] = places_.emplace(value, queries_.size());
    if (added) {
      if (static_cast<int64_t>(queries_.size()) == kMaxQueries) {
        return absl::ResourceExhaustedError(
            absl::StrCat("more than ", kMaxQueries, " different queries"));
      }
      queries_.push_back({std::move(value), {}});
    }
    std::vector<std::string>& items = queries_[place->second].known_items;
    for (const std::string& item : known_items) {
      if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
    }
    return absl::OkStatus();
  }

  std::vector<SourceQuery> Take() { return std::move(queries_); }

 private:
  std::vector<SourceQuery> queries_;
  std::unordered_map<std::string, size_t> places_;
};

absl::StatusOr<std::vector<SourceQuery>> ParseLines(absl::string_view text) {
  DistinctQueries queries;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (static_cast<int64_t>(line.size()) > limits::kMaxTextBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " has ", line.size(), " bytes; allowed are ", limits::kMaxTextBytes));
    }
    RETURN_IF_ERROR(CheckUtf8(line, absl::StrCat("line ", number)));
    RETURN_IF_ERROR(queries.Add(std::string(line), {}));
  }
  return queries.Take();
}

absl::StatusOr<std::vector<SourceQuery>> ParseQuestionQueries(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<Question> questions, ParseQuestions(text));
  DistinctQueries queries;
  for (const Question& question : questions) {
    RETURN_IF_ERROR(queries.Add(question.query, question.expected));
  }
  return queries.Take();
}

absl::StatusOr<std::vector<SourceQuery>> ReadQueryFile(const MixEntry& entry) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(entry.queries, kMaxQueryFileBytes));
  const bool questions = entry.kind == QueryKind::kText && absl::EndsWith(entry.queries, ".jsonl");
  return Within(entry.queries, questions ? ParseQuestionQueries(text) : ParseLines(text));
}

// Shuffled, and cut to what the entry uses.
template <typename T>
std::vector<T> Pick(std::vector<T> values, const MixEntry& entry, uint64_t seed) {
  SeededShuffle(seed, kShufflePurpose, &values);
  if (entry.distinct > 0 && entry.distinct < static_cast<int64_t>(values.size())) {
    values.resize(entry.distinct);
  }
  return values;
}

bool IsPicture(const std::string& path) {
  if (path[0] == '.' || absl::StrContains(path, "/.")) return false;
  const std::string name = absl::AsciiStrToLower(path);
  return absl::EndsWith(name, ".jpg") || absl::EndsWith(name, ".jpeg") ||
         absl::EndsWith(name, ".png") || absl::EndsWith(name, ".webp");
}

absl::StatusOr<std::vector<SourceQuery>> LoadPictures(const MixEntry& entry, uint64_t seed) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, ListFilesBelow(entry.queries));
  paths.erase(std::remove_if(paths.begin(), paths.end(),
                             [](const std::string& path) { return !IsPicture(path); }),
              paths.end());
  std::vector<SourceQuery> pictures;
  int64_t bytes = 0;
  for (const std::string& path : Pick(std::move(paths), entry, seed)) {
    const std::string full_path = JoinPath(entry.queries, path);
    ASSIGN_OR_RETURN(std::string picture, ReadFile(full_path, limits::kMaxImageBytes));
    if (picture.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(full_path, " is empty; remove it"));
    }
    bytes += static_cast<int64_t>(picture.size());
    if (bytes > kMaxAllPicturesBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          entry.queries, ": the pictures have more than ", kMaxAllPicturesBytes >> 20,
          " MiB together, and all are kept in memory; lower distinct (now ", entry.distinct, ")"));
    }
    pictures.push_back({std::move(picture), {}});
  }
  return pictures;
}

}  // namespace

absl::StatusOr<std::vector<SourceQuery>> LoadQueries(const MixEntry& entry, uint64_t seed) {
  std::vector<SourceQuery> queries;
  if (entry.kind == QueryKind::kImage) {
    ASSIGN_OR_RETURN(queries, LoadPictures(entry, seed));
  } else {
    ASSIGN_OR_RETURN(queries, ReadQueryFile(entry));
    queries = Pick(std::move(queries), entry, seed);
  }
  if (queries.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.queries, " holds nothing to ask for '", entry.name, "'; ",
                     entry.kind == QueryKind::kImage ? "it wants JPEG, PNG or WebP files below it"
                                                     : "it wants a query a line"));
  }
  return queries;
}

absl::StatusOr<std::vector<SourceQuery>> ItemQueries(std::vector<std::string> item_ids,
                                                     const MixEntry& entry, uint64_t seed) {
  DistinctQueries queries;
  for (std::string& id : item_ids) RETURN_IF_ERROR(queries.Add(std::move(id), {}));
  std::vector<SourceQuery> picked = Pick(queries.Take(), entry, seed);
  if (picked.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no item of the index '", entry.index,
                                                   "' to ask for '", entry.name, "'"));
  }
  return picked;
}

}  // namespace sightline
