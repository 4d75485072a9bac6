#include "common/evaluation/relevance.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/dataset/caption_rule.h"

namespace sightline {
namespace {

bool Intersect(const std::vector<int>& a, const std::vector<int>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

}  // namespace

absl::StatusOr<CaptionIdParts> ParseCaptionId(absl::string_view item_id) {
  const size_t hash = item_id.rfind('#');
  const size_t dash = item_id.rfind('-');
  CaptionIdParts parts;
  if (hash == absl::string_view::npos || dash == absl::string_view::npos || hash == 0 ||
      dash < hash + 2 || !absl::SimpleAtoi(item_id.substr(dash + 1), &parts.n) || parts.n < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", item_id, "' is no caption's id; one is <image id>#<language>-<n>"));
  }
  parts.image_id = std::string(item_id.substr(0, hash));
  parts.language = std::string(item_id.substr(hash + 1, dash - hash - 1));
  return parts;
}

std::string Relevance::KeyText(RelevanceRule rule, const std::string& image_id,
                               const std::string& caption) {
  if (rule == RelevanceRule::kOwn) return image_id;
  // A caption without a word is equal to itself alone, not to all others of the kind.
  std::string words = NormalizeWords(caption);
  return words.empty() ? absl::StrCat("#", caption) : words;
}

absl::StatusOr<Relevance> Relevance::Build(absl::Span<const ItemRecord> captions,
                                           absl::string_view language, RelevanceRule rule) {
  Relevance relevance;
  std::unordered_map<std::string, int> keys;
  for (const ItemRecord& item : captions) {
    ASSIGN_OR_RETURN(const CaptionIdParts id, ParseCaptionId(item.item_id));
    if (id.language != language) continue;
    const int next = static_cast<int>(keys.size());
    const int key = keys.emplace(KeyText(rule, id.image_id, item.caption), next).first->second;
    relevance.counts_.resize(keys.size());
    if (relevance.caption_keys_.emplace(item.item_id, key).second)
      ++relevance.counts_[key].captions;
    Image& image = relevance.images_[id.image_id];
    image.keys.push_back(key);
    image.asking.push_back({id.n, item.caption, key});
  }
  for (auto& [id, image] : relevance.images_) {
    std::sort(image.keys.begin(), image.keys.end());
    image.keys.erase(std::unique(image.keys.begin(), image.keys.end()), image.keys.end());
    for (const int key : image.keys) ++relevance.counts_[key].images;
    std::sort(image.asking.begin(), image.asking.end(),
              [](const Caption& a, const Caption& b) { return a.n < b.n; });
    if (rule == RelevanceRule::kSameWords) image.asking.resize(1);
  }
  return relevance;
}

std::vector<EvaluationQuery> Relevance::Queries(Direction direction) const {
  std::vector<EvaluationQuery> queries;
  queries.reserve(images_.size());
  for (const auto& [id, image] : images_) {
    if (direction == Direction::kImageToText) {
      queries.push_back({id, image.asking.front().text, image.keys});
      continue;
    }
    for (const Caption& caption : image.asking)
      queries.push_back({id, caption.text, {caption.key}});
  }
  return queries;
}

std::vector<std::vector<std::string>> Relevance::RelevantImages(
    absl::Span<const EvaluationQuery> texts) const {
  std::unordered_map<int, std::vector<std::string>> images_of;  // by key
  for (const auto& [id, image] : images_) {
    for (const int key : image.keys) images_of[key].push_back(id);
  }
  std::vector<std::vector<std::string>> relevant;
  for (const EvaluationQuery& text : texts) relevant.push_back(images_of[text.keys.front()]);
  return relevant;
}

bool Relevance::IsRelevant(Direction direction, const EvaluationQuery& query,
                           const std::string& hit_id) const {
  if (direction == Direction::kTextToImage) {
    const auto image = images_.find(hit_id);
    return image != images_.end() && Intersect(query.keys, image->second.keys);
  }
  const auto caption = caption_keys_.find(hit_id);
  return caption != caption_keys_.end() &&
         std::binary_search(query.keys.begin(), query.keys.end(), caption->second);
}

int64_t Relevance::RelevantCount(Direction direction, const EvaluationQuery& query) const {
  if (direction == Direction::kTextToImage) return counts_[query.keys.front()].images;
  int64_t captions = 0;
  for (const int key : query.keys) captions += counts_[key].captions;
  return captions;
}

}  // namespace sightline
