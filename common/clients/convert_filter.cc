#include "common/clients/convert_filter.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Tags = google::protobuf::RepeatedPtrField<std::string>;

absl::StatusOr<std::vector<std::string>> TagsFromProto(Tags* tags, const FieldPath& parent,
                                                       const char* name) {
  std::vector<std::string> result;
  result.reserve(tags->size());
  for (int i = 0; i < tags->size(); ++i) {
    std::string& tag = *tags->Mutable(i);
    if (tag.empty() || tag.size() > static_cast<size_t>(limits::kMaxFilterTagBytes)) {
      return InvalidField(
          FieldPath(parent, name, i),
          absl::StrCat("has ", tag.size(), " bytes, must have 1 to ", limits::kMaxFilterTagBytes));
    }
    result.push_back(std::move(tag));
  }
  return result;
}

// Also refuses what is no number.
absl::Status CheckRecall(float recall, bool or_none, const FieldPath& path) {
  if (recall <= 1 && (or_none ? recall >= 0 : recall > 0)) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("is ", recall, ", must be ",
                                         or_none ? "0 to 1" : "more than 0 and at most 1"));
}

absl::Status CheckEffort(int effort, int least, const FieldPath& path) {
  if (effort >= least && effort <= limits::kMaxEffort) return absl::OkStatus();
  return InvalidField(path,
                      absl::StrCat("is ", effort, ", must be ", least, " to ", limits::kMaxEffort));
}

}  // namespace

void ToProto(TagFilter filter, v1::TagFilter* out) {
  out->Clear();
  auto& [any, all, none] = filter;
  for (std::string& tag : any) out->add_any(std::move(tag));
  for (std::string& tag : all) out->add_all(std::move(tag));
  for (std::string& tag : none) out->add_none(std::move(tag));
}

absl::StatusOr<TagFilter> FromProto(v1::TagFilter filter, const FieldPath& path) {
  const int count = filter.any_size() + filter.all_size() + filter.none_size();
  if (count > limits::kMaxFilterTags) {
    return InvalidField(path, absl::StrCat("has ", count, " tags in its three lists, at most ",
                                           limits::kMaxFilterTags));
  }
  TagFilter result;
  ASSIGN_OR_RETURN(result.any, TagsFromProto(filter.mutable_any(), path, "any"));
  ASSIGN_OR_RETURN(result.all, TagsFromProto(filter.mutable_all(), path, "all"));
  ASSIGN_OR_RETURN(result.none, TagsFromProto(filter.mutable_none(), path, "none"));
  return result;
}

void ToProto(const EffortWish& wish, v1::EffortWish* out) {
  out->Clear();
  const auto& [recall, effort] = wish;
  if (recall.has_value()) {
    out->set_recall(*recall);
  } else if (effort.has_value()) {
    out->set_effort(*effort);
  }
}

absl::StatusOr<EffortWish> FromProto(const v1::EffortWish& wish, const FieldPath& path) {
  EffortWish result;
  switch (wish.kind_case()) {
    case v1::EffortWish::kRecall:
      RETURN_IF_ERROR(CheckRecall(wish.recall(), /*or_none=*/false, FieldPath(path, "recall")));
      result.recall = wish.recall();
      break;
    case v1::EffortWish::kEffort:
      RETURN_IF_ERROR(CheckEffort(wish.effort(), 1, FieldPath(path, "effort")));
      result.effort = wish.effort();
      break;
    case v1::EffortWish::KIND_NOT_SET:
      break;
  }
  return result;
}

bool IsGiven(const EffortWish& wish) {
  const auto& [recall, effort] = wish;
  return recall.has_value() || effort.has_value();
}

void ToProto(const SearchEffort& effort, v1::SearchEffort* out) {
  const auto& [exact, recall, how_hard, reduced] = effort;
  out->set_exact(exact);
  out->set_recall(recall);
  out->set_effort(how_hard);
  out->set_reduced(reduced);
}

absl::StatusOr<SearchEffort> FromProto(const v1::SearchEffort& effort, const FieldPath& path) {
  RETURN_IF_ERROR(CheckRecall(effort.recall(), /*or_none=*/true, FieldPath(path, "recall")));
  RETURN_IF_ERROR(CheckEffort(effort.effort(), 0, FieldPath(path, "effort")));
  return SearchEffort{effort.exact(), effort.recall(), effort.effort(), effort.reduced()};
}

bool TellsEffort(const SearchEffort& effort, int64_t matched) {
  return matched > 0 || !effort.exact || effort.reduced;
}

absl::Status CheckFilterWasHeard(const v1::TagFilter& filter, bool found, int64_t matched,
                                 const FieldPath& field) {
  const bool filtered = filter.any_size() + filter.all_size() + filter.none_size() > 0;
  if (!filtered || !found || matched > 0) return absl::OkStatus();
  return InvalidField(field,
                      "is 0 beside items that were found: the server knows no filters and has "
                      "searched all items; update it before those that ask it");
}

}  // namespace sightline
