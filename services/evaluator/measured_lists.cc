#include "services/evaluator/measured_lists.h"

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

std::vector<ListedQuery> ListedQueries(const MeasureSpec& spec, const Measurement& measurement,
                                       const std::vector<Method>& methods,
                                       const Relevance& relevance) {
  std::vector<ListedQuery> listed;
  for (const EvaluationQuery& query : spec.queries) {
    listed.push_back({query.item_id, relevance.RelevantCount(spec.direction, query), {}});
  }
  for (const Method& method : methods) {
    const std::vector<std::vector<int>>& places = measurement.Find(method)->places;
    for (size_t q = 0; q < listed.size(); ++q) listed[q].places.push_back(places[q]);
  }
  return listed;
}

}  // namespace

ListFile MeasuredLists(const MeasureReport& report, const std::vector<MeasureSpec>& specs,
                       const Relevance& relevance, const TimedSearchClient* client) {
  ListFile file;
  file.live = report.live;
  file.images = absl::StrCat(report.images.index, "/", report.images.generation);
  file.captions = absl::StrCat(report.captions.index, "/", report.captions.generation);
  file.image_count = report.images.item_count;
  file.caption_count = report.captions.item_count;
  file.language = report.language;
  file.list_length = report.list_length;
  for (const Method& method : specs.front().methods) {
    if (report.measurements.back().Find(method) == nullptr) continue;
    file.methods.push_back(method);
    file.times.push_back(client == nullptr ? absl::nullopt : client->TimeOf(method));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    file.of(specs[i].direction) =
        ListedQueries(specs[i], report.measurements[i], file.methods, relevance);
  }
  return file;
}

}  // namespace sightline
