#include "common/retrieval/request_hash.h"

#include <variant>

#include "common/base/byte_reader.h"

namespace sightline {

void RequestHash::Add(absl::string_view bytes) {
  AddNumber(static_cast<int64_t>(bytes.size()));
  hash_.Update(bytes);
}

void RequestHash::AddNumber(int64_t number) {
  std::string bytes;
  AppendLittleEndian(number, &bytes);
  hash_.Update(bytes);
}

void RequestHash::AddFloats(const std::vector<float>& values) {
  Add(BytesOfNumbers(values));
}

void RequestHash::AddWords(const std::vector<std::string>& words) {
  AddNumber(static_cast<int64_t>(words.size()));
  for (const std::string& word : words) Add(word);
}

void RequestHash::AddUpload(absl::string_view bytes) {
  if (uploads_ == Uploads::kByContent) return Add(bytes);
  AddNumber(static_cast<int64_t>(bytes.size()));
  AddNumber(Crc32c(bytes));
}

struct RequestHash::QueryFields {
  RequestHash& hash;

  void operator()(const TextQuery& query) const {
    const auto& [text] = query;
    hash.Add(text);
  }
  void operator()(const ImageQuery& query) const {
    const auto& [bytes] = query;
    hash.AddUpload(*bytes);
  }
  void operator()(const RegionsQuery& query) const {
    const auto& [image] = query;
    const auto& [pixels, regions, ocr_tokens, tags] = *image;  // which has no pixels
    const auto& [count, feature_size, features, boxes, box_sizes, confidences] = regions;
    hash.AddNumber(count);
    hash.AddNumber(feature_size);
    hash.AddUpload(BytesOfNumbers(features));
    hash.AddFloats(boxes);
    hash.AddFloats(box_sizes);
    hash.AddFloats(confidences);
    hash.AddWords(ocr_tokens);
    hash.AddWords(tags);
  }
  void operator()(const EmbeddingQuery& query) const {
    const auto& [values, space] = query;
    hash.AddFloats(values);
    hash.Add(space);
  }
  void operator()(const ItemQuery& query) const {
    const auto& [index, item_id] = query;
    hash.Add(index);
    hash.Add(item_id);
  }
};

void RequestHash::AddQuery(const Query& query) {
  AddNumber(static_cast<int64_t>(query.index()));
  std::visit(QueryFields{*this}, query);
}

void RequestHash::AddQuery(const EncodableQuery& query) {
  AddNumber(static_cast<int64_t>(query.index()));
  std::visit(QueryFields{*this}, query);
}

void RequestHash::AddGeneration(const GenerationRef& generation) {
  const auto& [index, name, space] = generation;
  Add(index);
  Add(name);
  Add(space);
}

void RequestHash::AddCombination(const Combination& combination) {
  const auto& [kind, lambda] = combination;
  AddNumber(static_cast<int64_t>(kind));
  AddFloats({lambda});
}

void RequestHash::AddFilter(const TagFilter& filter) {
  const auto& [any, all, none] = filter;
  AddWords(any);
  AddWords(all);
  AddWords(none);
}

void RequestHash::AddEffort(const EffortWish& wish) {
  const auto& [recall, effort] = wish;
  AddNumber(recall.has_value());
  if (recall.has_value()) AddFloats({*recall});
  AddNumber(effort.value_or(0));
}

}  // namespace sightline
