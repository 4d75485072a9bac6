#include "services/evaluator/tables_lists.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/evaluation/list_file.h"
#include "common/evaluation/matrix_items.h"

namespace sightline {
namespace {

constexpr Direction kDirections[] = {Direction::kTextToImage, Direction::kImageToText};

class ListTables {
 public:
  ListTables(const TablesFlags& flags, const TablesPlan& plan) : flags_(flags), plan_(plan) {}

  absl::StatusOr<TablesReport> Run(ComputePool* threads) {
    RETURN_IF_ERROR(Read());
    TakeMethods();
    for (const Direction direction : kDirections) {
      for (const ListFile& file : files_) TakeRows(file, direction);
    }
    RETURN_IF_ERROR(TakeFamilyList());
    TablesReport report;
    report.lists = plan_.lists;
    report.list_length = files_.front().list_length;
    report.protocol = files_.front().live ? "live" : "in_process";
    report.measure = plan_.measure;
    report.recall = plan_.recall;
    report.image_to_text_first = plan_.image_to_text_first;
    report.bootstrap = flags_.bootstrap;
    report.layouts = plan_.layouts;
    std::vector<MethodOutcome> outcomes(methods_.size());
    report.parts = MakeParts(&outcomes, &report.queries_beyond_lists);
    for (const Method& method : methods_) {
      report.rankings.push_back(
          {method.depth == 0 ? "retrieval" : "reranked", method, TimeOf(method)});
    }
    for (const TablePart& part : report.parts) {
      for (const EvaluationPool& pool : part.pools) {
        report.asking.push_back({static_cast<int64_t>(pool.caption_queries.size()),
                                 static_cast<int>(pool.candidate_count(Direction::kTextToImage))});
      }
    }
    report.rows =
        MakeTable(report.parts, outcomes, items_, plan_.recall, flags_.bootstrap, threads);
    return report;
  }

 private:
  absl::Status Read() {
    for (const std::string& path : plan_.lists) {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxListFileBytes));
      ASSIGN_OR_RETURN(ListFile file, Within(path, ParseListFile(text)));
      const int length = file.list_length;
      if (!files_.empty() && length != files_.front().list_length) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": lists end at ", length, ", those of ", plan_.lists.front(),
                         " at ", files_.front().list_length, "; measure them alike"));
      }
      if (!files_.empty() && file.live != files_.front().live) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " is of ", file.live ? "a fleet" : "a process", ", ",
                         plan_.lists.front(), " is not; a table is of one of them"));
      }
      if (plan_.measure.ndcg_cutoff > length) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ": lists end at ", length, ", before --ndcg ", plan_.measure.ndcg_cutoff));
      }
      files_.push_back(std::move(file));
    }
    return absl::OkStatus();
  }

  // Where a method stands in a file; as many as there are if it does not.
  static size_t PlaceOf(const Method& method, const ListFile& file) {
    const auto same = [&method](const Method& other) { return SameMethod(method, other); };
    return std::find_if(file.methods.begin(), file.methods.end(), same) - file.methods.begin();
  }

  void TakeMethods() {
    for (const Method& method : files_.front().methods) {
      const bool everywhere = std::all_of(
          files_.begin(), files_.end(),
          [&method](const ListFile& file) { return PlaceOf(method, file) < file.methods.size(); });
      if (everywhere) methods_.push_back(method);
    }
  }

  // A row for each image that asks, and a column for each caption that does.  An image may ask in
  // several files, and is one family.
  void TakeRows(const ListFile& file, Direction direction) {
    for (const ListedQuery& query : file.of(direction)) {
      const int next = static_cast<int>(items_.images.size());
      const int row = rows_.emplace(query.image, next).first->second;
      if (row == next) {
        items_.images.push_back(query.image);
        items_.families.push_back(items_.family_count++);
      }
      if (direction == Direction::kImageToText) continue;
      items_.captions.push_back({"", row, file.language});
    }
  }

  absl::Status TakeFamilyList() {
    if (flags_.families.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(flags_.families));
    return Within(flags_.families, TakeFamilies(text, &items_));
  }

  // The mean of the files', where all say it.
  absl::optional<QueryTime> TimeOf(const Method& method) const {
    std::vector<QueryTime> times;
    for (const ListFile& file : files_) {
      const absl::optional<QueryTime>& time = file.times[PlaceOf(method, file)];
      if (!time.has_value()) return absl::nullopt;
      times.push_back(*time);
    }
    return MeanTime(times);
  }

  // `beyond` counts queries whose right answers are not all in each of their lists.
  std::vector<TablePart> MakeParts(std::vector<MethodOutcome>* outcomes, int64_t* beyond) const {
    std::vector<TablePart> parts;
    int caption = 0;
    for (const ListFile& file : files_) {
      auto part = std::find_if(parts.begin(), parts.end(), [&file](const TablePart& other) {
        return other.language == file.language;
      });
      if (part == parts.end()) {
        part = parts.insert(part, {file.language, {}});
        for (MethodOutcome& outcome : *outcomes) outcome.emplace_back();
      }
      part->pools.push_back(PoolOf(file, &caption));
      for (size_t m = 0; m < methods_.size(); ++m) {
        (*outcomes)[m][part - parts.begin()].push_back(OutcomeOf(file, methods_[m]));
      }
      *beyond += BeyondLists(file);
    }
    return parts;
  }

  EvaluationPool PoolOf(const ListFile& file, int* caption) const {
    EvaluationPool pool;
    pool.unnamed = {file.image_count, file.caption_count};
    for (const ListedQuery& query : file.of(Direction::kImageToText)) {
      pool.image_queries.push_back(rows_.at(query.image));
    }
    pool.caption_queries.resize(file.of(Direction::kTextToImage).size());
    std::iota(pool.caption_queries.begin(), pool.caption_queries.end(), *caption);
    *caption += static_cast<int>(pool.caption_queries.size());
    return pool;
  }

  PoolOutcome OutcomeOf(const ListFile& file, const Method& method) const {
    const size_t place = PlaceOf(method, file);
    PoolOutcome outcome;
    for (const Direction direction : kDirections) {
      // A list has no more than there is.
      const int64_t all =
          direction == Direction::kTextToImage ? file.image_count : file.caption_count;
      const auto end = static_cast<int>(std::min<int64_t>(file.list_length, all));
      for (const ListedQuery& query : file.of(direction)) {
        outcome.of(direction).push_back(
            MeasureList(query.places[place], query.relevant, end, plan_.measure.ndcg_cutoff));
      }
    }
    return outcome;
  }

  int64_t BeyondLists(const ListFile& file) const {
    const auto lacks = [&](const ListedQuery& query) {
      return std::any_of(methods_.begin(), methods_.end(), [&](const Method& method) {
        const std::vector<int>& places = query.places[PlaceOf(method, file)];
        return static_cast<int64_t>(places.size()) < query.relevant;
      });
    };
    int64_t count = 0;
    for (const Direction direction : kDirections) {
      count += std::count_if(file.of(direction).begin(), file.of(direction).end(), lacks);
    }
    return count;
  }

  const TablesFlags& flags_;
  const TablesPlan& plan_;
  std::vector<ListFile> files_;
  std::vector<Method> methods_;
  MatrixItems items_;
  std::unordered_map<std::string, int> rows_;
};

}  // namespace

absl::StatusOr<TablesReport> TablesOfLists(const TablesFlags& flags, const TablesPlan& plan,
                                           ComputePool* threads) {
  return ListTables(flags, plan).Run(threads);
}

}  // namespace sightline
