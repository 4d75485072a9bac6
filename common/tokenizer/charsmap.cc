#include "common/tokenizer/charsmap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

// Offsets of units have 21 bits, where they are not multiples of 256.
constexpr uint32_t kMaxUnits = uint32_t{1} << 21;
constexpr uint32_t kBlock = 256;
constexpr uint32_t kHasLeaf = uint32_t{1} << 8;
constexpr uint32_t kValue = uint32_t{1} << 31;
constexpr int kOffsetShift = 10;
// No byte is its label.
constexpr uint32_t kFreeUnit = kValue | 0xFF;
// Stands for the end of a key; so no key has a zero byte.
constexpr uint8_t kLeafLabel = 0;

using Rules = std::vector<std::pair<absl::string_view, uint32_t>>;

// A trie as a double array: a node whose children are at `base` has that of the byte b at
// `base ^ b`, a unit that has b as its label, and its value at `base`.  No two nodes share a base.
class DoubleArray {
 public:
  // `rules` are sorted by their keys, each once, with values below 2^31.
  absl::Status Build(const Rules& rules) {
    Grow();
    // The root, whose label no child has to look like: a text may have zero bytes.
    taken_[0] = is_base_[0] = true;
    units_[0] = 0;
    if (rules.empty()) return absl::OkStatus();
    return AddNode(rules.begin(), rules.end(), /*depth=*/0, /*node=*/0);
  }

  const std::vector<uint32_t>& units() const { return units_; }

 private:
  using Iterator = Rules::const_iterator;

  // The rules from `begin` to `end` agree in their first `depth` bytes, which lead to `node`.
  absl::Status AddNode(Iterator begin, Iterator end, size_t depth, uint32_t node) {
    const auto label_of = [depth](const Rules::value_type& rule) {
      return rule.first.size() == depth ? kLeafLabel : static_cast<uint8_t>(rule.first[depth]);
    };
    std::vector<uint8_t> labels;
    for (Iterator rule = begin; rule != end; ++rule) {
      if (labels.empty() || labels.back() != label_of(*rule)) labels.push_back(label_of(*rule));
    }
    ASSIGN_OR_RETURN(const uint32_t base, FindBase(labels));
    units_[node] |= (node ^ base) << kOffsetShift;
    for (const uint8_t label : labels) {
      taken_[base ^ label] = true;
      units_[base ^ label] = label;
    }
    for (Iterator rule = begin; rule != end;) {
      const uint8_t label = label_of(*rule);
      const Iterator behind =
          std::find_if(rule, end, [&](const auto& other) { return label_of(other) != label; });
      if (label == kLeafLabel) {
        units_[node] |= kHasLeaf;
        units_[base] = rule->second | kValue;
      } else {
        RETURN_IF_ERROR(AddNode(rule, behind, depth + 1, base ^ label));
      }
      rule = behind;
    }
    return absl::OkStatus();
  }

  // A base that nobody has, with free units for all labels, and now taken.
  absl::StatusOr<uint32_t> FindBase(const std::vector<uint8_t>& labels) {
    while (first_free_ < taken_.size() && taken_[first_free_]) ++first_free_;
    for (uint32_t unit = first_free_;; ++unit) {
      if (unit == kMaxUnits) return absl::InvalidArgumentError("the rules are too many for a trie");
      if (unit == taken_.size()) Grow();
      if (taken_[unit]) continue;
      // Within its block of 256, as all units of the node.
      const uint32_t base = unit ^ labels[0];
      if (is_base_[base]) continue;
      if (std::any_of(labels.begin(), labels.end(), [&](uint8_t l) { return taken_[base ^ l]; })) {
        continue;
      }
      is_base_[base] = true;
      return base;
    }
  }

  void Grow() {
    units_.resize(units_.size() + kBlock, kFreeUnit);
    taken_.resize(units_.size());
    is_base_.resize(units_.size());
  }

  std::vector<uint32_t> units_;
  std::vector<bool> taken_, is_base_;
  uint32_t first_free_ = 0;  // no unit before it is
};

absl::Status CheckRule(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(CheckUtf8(from, "a rule"));
  RETURN_IF_ERROR(CheckUtf8(to, "a replacement"));
  if (!from.empty() && absl::StrCat(from, to).find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a rule is of nothing, or has a zero byte");
}

}  // namespace

absl::StatusOr<std::string> CompileCharsmap(const NormalizationRules& rules) {
  std::map<std::string, uint32_t> places;  // of replacements
  std::string replacements;
  Rules sorted;
  for (const auto& [from, to] : rules) {
    RETURN_IF_ERROR(CheckRule(from, to));
    const auto [place, added] = places.emplace(to, static_cast<uint32_t>(replacements.size()));
    if (added) absl::StrAppend(&replacements, to, absl::string_view("\0", 1));
    sorted.emplace_back(from, place->second);
  }
  DoubleArray trie;
  RETURN_IF_ERROR(trie.Build(sorted));
  const auto trie_bytes = static_cast<uint32_t>(trie.units().size() * sizeof(uint32_t));
  std::string charsmap(sizeof(trie_bytes) + trie_bytes, '\0');
  // All of it is little-endian, as we are.
  std::memcpy(charsmap.data(), &trie_bytes, sizeof(trie_bytes));
  std::memcpy(charsmap.data() + sizeof(trie_bytes), trie.units().data(), trie_bytes);
  return absl::StrCat(charsmap, replacements);
}

}  // namespace sightline
