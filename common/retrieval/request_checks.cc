#include "common/retrieval/request_checks.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/embedding/embedding_matrix.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

std::string AtMost(int64_t size, absl::string_view unit, int64_t limit) {
  return absl::StrCat("has ", size, " ", unit, "; at most ", limit, " are allowed");
}

// Whether valid UTF-8 holds nothing but white space (Unicode's White_Space).
bool IsBlank(absl::string_view text) {
  static constexpr absl::string_view kSpaces[] = {
      "\t",           "\n",           "\v",
      "\f",           "\r",           " ",
      "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80",
      "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82",
      "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85",
      "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
      "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
      "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F",
      "\xE3\x80\x80",
  };
  while (!text.empty()) {
    size_t length = 0;
    for (const absl::string_view space : kSpaces) {
      if (absl::StartsWith(text, space)) length = space.size();
    }
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Checks one query, a field of the request; the operators are its alternatives.
class QueryChecker {
 public:
  QueryChecker(std::string path, const RetrieverOptions& options)
      : path_(std::move(path)), options_(options) {}

  absl::Status operator()(const TextQuery& query) const {
    const std::string path = path_ + ".text";
    const size_t size = query.text.size();
    // The size first: nobody reads a hundred megabytes to find a bad byte at the end.
    if (size > static_cast<size_t>(options_.max_text_bytes)) {
      return InvalidField(path, AtMost(size, "bytes", options_.max_text_bytes));
    }
    if (!IsValidUtf8(query.text)) {
      return InvalidField(path, absl::StrCat("of ", size, " bytes is not valid UTF-8"));
    }
    if (IsBlank(query.text)) {
      return InvalidField(path, absl::StrCat("is blank: ", size, " bytes of white space"));
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ImageQuery& query) const {
    const std::string path = path_ + ".image";
    const size_t size = query.bytes->size();
    if (size == 0) return InvalidField(path, "has no bytes");
    if (size > static_cast<uint64_t>(options_.max_image_bytes)) {
      return InvalidField(path, AtMost(size, "bytes", options_.max_image_bytes));
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const RegionsQuery& query) const {
    const std::string path = path_ + ".regions";
    const RegionSet& regions = query.image->regions;
    if (const absl::Status good = CheckRegionSet(regions); !good.ok()) {
      return InvalidField(path, good.message());
    }
    const size_t numbers = regions.features.size() + regions.boxes.size() +
                           regions.box_sizes.size() + regions.confidences.size();
    if (numbers * sizeof(float) > static_cast<uint64_t>(options_.max_image_bytes)) {
      return InvalidField(path, AtMost(numbers * sizeof(float), "bytes", options_.max_image_bytes));
    }
    RETURN_IF_ERROR(CheckWords(query.image->ocr_tokens, path + ".ocr_tokens"));
    return CheckWords(query.image->tags, path + ".tags");
  }

  absl::Status operator()(const EmbeddingQuery& query) const {
    if (query.space.empty()) {
      return InvalidField(path_ + ".embedding.space",
                          "is empty; name the fingerprint of the space that the vector lies in");
    }
    const std::string path = path_ + ".embedding.vector";
    if (query.values.empty()) return InvalidField(path, "has no numbers");
    if (!AllFinite(query.values)) {
      return InvalidField(
          path, absl::StrCat("of ", query.values.size(), " numbers holds one that is not finite"));
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ItemQuery& query) const {
    if (!query.item_id.empty()) return absl::OkStatus();
    return InvalidField(path_ + ".item.item_id", "is empty");
  }

 private:
  absl::Status CheckWords(const std::vector<std::string>& words, const std::string& path) const {
    size_t bytes = 0;
    for (const std::string& word : words) {
      bytes += word.size();
      if (!IsValidUtf8(word)) {
        return InvalidField(
            path, absl::StrCat("has a word of ", word.size(), " bytes that is not valid UTF-8"));
      }
    }
    if (bytes > static_cast<size_t>(options_.max_text_bytes)) {
      return InvalidField(path, AtMost(bytes, "bytes", options_.max_text_bytes));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const RetrieverOptions& options_;
};

template <typename Element>
absl::Status CheckList(const std::vector<Element>& elements, absl::string_view name,
                       const RetrieverOptions& options) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const QueryChecker checker(absl::StrCat(name, "[", i, "]"), options);
    RETURN_IF_ERROR(std::visit(checker, elements[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(absl::string_view path, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("is ", value, ", must be ", least, " to ", most));
}

// Before it is looked for, since the message that there is none has it.
absl::Status CheckRerankerName(const std::string& name) {
  if (name.empty() || IsValidName(name, limits::kMaxRerankerNameLength)) return absl::OkStatus();
  return InvalidField(
      "reranker",
      absl::StrCat("of ", name.size(), " bytes is no name: a-z, 0-9, _ and -, at most ",
                   limits::kMaxRerankerNameLength, " characters; leave it out for the default"));
}

absl::Status CheckTags(const std::vector<std::string>& tags, absl::string_view list) {
  for (size_t i = 0; i < tags.size(); ++i) {
    const size_t size = tags[i].size();
    const bool fits = size > 0 && size <= static_cast<size_t>(limits::kMaxFilterTagBytes);
    if (fits && IsValidUtf8(tags[i])) continue;
    return InvalidField(absl::StrCat("filter.", list, "[", i, "]"),
                        absl::StrCat("of ", size, " bytes is no tag: valid UTF-8 of 1 to ",
                                     limits::kMaxFilterTagBytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckFilter(const TagFilter& filter) {
  const auto& [any, all, none] = filter;
  const size_t count = any.size() + all.size() + none.size();
  if (count > limits::kMaxFilterTags) {
    return InvalidField("filter", AtMost(count, "tags in all", limits::kMaxFilterTags));
  }
  RETURN_IF_ERROR(CheckTags(any, "any"));
  RETURN_IF_ERROR(CheckTags(all, "all"));
  return CheckTags(none, "none");
}

absl::Status CheckEffort(const EffortWish& wish) {
  const auto& [recall, effort] = wish;
  if (recall.has_value() && effort.has_value()) {
    return InvalidField("effort", "names a recall and an effort; leave one of them out");
  }
  if (recall.has_value() && !(*recall > 0 && *recall <= 1)) {
    return InvalidField("effort.recall",
                        absl::StrCat("is ", *recall, ", must be more than 0 and at most 1"));
  }
  if (!effort.has_value()) return absl::OkStatus();
  return CheckRange("effort.effort", *effort, 1, limits::kMaxEffort);
}

}  // namespace

absl::Status CheckSearchRequest(const SearchRequest& request, const RetrieverOptions& options) {
  RETURN_IF_ERROR(CheckRange("top_k", request.top_k, 1, limits::kMaxHits));
  if (request.depth.has_value()) {
    RETURN_IF_ERROR(CheckRange("rerank_depth", *request.depth, 0, options.max_depth));
  }
  if (request.combination.has_value()) {
    const absl::Status status = Validate(*request.combination);
    if (!status.ok()) return InvalidField("combination", status.message());
  }
  RETURN_IF_ERROR(CheckRerankerName(request.reranker));
  RETURN_IF_ERROR(CheckFilter(request.filter));
  RETURN_IF_ERROR(CheckEffort(request.effort));
  return std::visit(QueryChecker("query", options), request.query);
}

absl::Status CheckScorePairsRequest(const ScorePairsRequest& request,
                                    const RetrieverOptions& options) {
  if (request.texts.empty()) return InvalidField("texts", "is empty");
  if (request.images.empty()) return InvalidField("images", "is empty");
  RETURN_IF_ERROR(CheckRerankerName(request.reranker));
  const size_t most = static_cast<size_t>(options.max_pairs) / request.images.size();
  if (request.texts.size() > most) {
    return InvalidField(
        "texts", absl::StrCat("has ", request.texts.size(), " texts for ", request.images.size(),
                              " images; at most ", options.max_pairs, " pairs are scored at once"));
  }
  RETURN_IF_ERROR(CheckList(request.texts, "texts", options));
  return CheckList(request.images, "images", options);
}

absl::Status CheckGetItemsRequest(const GetItemsRequest& request, const RetrieverOptions& options) {
  if (request.index.empty()) return InvalidField("index", "is empty; name the index to look in");
  if (request.item_ids.empty()) return InvalidField("item_ids", "is empty");
  if (request.item_ids.size() > static_cast<size_t>(options.max_get_items)) {
    return InvalidField("item_ids", AtMost(request.item_ids.size(), "ids", options.max_get_items));
  }
  for (size_t i = 0; i < request.item_ids.size(); ++i) {
    if (request.item_ids[i].empty()) {
      return InvalidField(absl::StrCat("item_ids[", i, "]"), "is empty");
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const RetrieverOptions& options) {
  const auto positive = [](absl::string_view name, int64_t value) {
    if (value > 0) return absl::OkStatus();
    return InvalidField(name, absl::StrCat("is ", value, ", must be positive"));
  };
  RETURN_IF_ERROR(positive("max_text_bytes", options.max_text_bytes));
  RETURN_IF_ERROR(positive("max_image_bytes", options.max_image_bytes));
  RETURN_IF_ERROR(positive("max_pairs", options.max_pairs));
  RETURN_IF_ERROR(positive("max_get_items", options.max_get_items));
  RETURN_IF_ERROR(positive("rerank_slice", options.rerank_slice));
  RETURN_IF_ERROR(positive("rerank_parallelism", options.rerank_parallelism));
  RETURN_IF_ERROR(CheckRange("max_depth", options.max_depth, 0, limits::kMaxHits));
  return CheckRange("default_depth", options.default_depth, 0, options.max_depth);
}

}  // namespace sightline
