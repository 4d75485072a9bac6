#include "common/training/item_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/models/network/row_dropout.h"

namespace sightline {
namespace {

// Eight numbers a round, two in each of four chains, which do not wait for each other.
constexpr size_t kChains = 4, kNumbersPerRound = 2 * kChains;

class Hasher {
 public:
  explicit Hasher(uint64_t kind) {
    for (uint64_t& chain : chains_) chain = kind = SplitMix64(kind);
  }

  template <typename Number>
  void Add(absl::Span<const Number> numbers) {
    static_assert(sizeof(Number) == sizeof(uint32_t));
    chains_[0] = SplitMix64(chains_[0] + numbers.size());
    for (size_t begin = 0; begin < numbers.size(); begin += kNumbersPerRound) {
      uint64_t words[kChains] = {};
      const size_t count = std::min(kNumbersPerRound, numbers.size() - begin);
      std::memcpy(words, numbers.data() + begin, count * sizeof(Number));
      for (size_t k = 0; k < kChains; ++k) chains_[k] = SplitMix64(chains_[k] ^ words[k]);
    }
  }

  uint64_t Value() const {
    uint64_t value = 0;
    for (const uint64_t chain : chains_) value = SplitMix64(value ^ chain);
    return value;
  }

 private:
  uint64_t chains_[kChains];
};

constexpr uint64_t kText = 1, kImage = 2, kPair = 3;

}  // namespace

uint64_t KeyOf(TokenSpan text) {
  Hasher hasher(kText);
  hasher.Add(text);
  return hasher.Value();
}

uint64_t KeyOf(const ImageNumbers& image) {
  Hasher hasher(kImage);
  hasher.Add(absl::MakeConstSpan(image.ids));
  hasher.Add(absl::MakeConstSpan(image.regions.features));
  hasher.Add(absl::MakeConstSpan(image.regions.boxes));
  return hasher.Value();
}

uint64_t KeyOfPair(uint64_t text, uint64_t image) {
  return SplitMix64(SplitMix64(SplitMix64(kPair) + text) + image);
}

std::vector<uint64_t> KeysOf(const std::vector<TokenSpan>& texts) {
  std::vector<uint64_t> keys;
  for (const TokenSpan text : texts) keys.push_back(KeyOf(text));
  return keys;
}

std::vector<uint64_t> KeysOf(const std::vector<const ImageNumbers*>& images) {
  std::vector<uint64_t> keys;
  for (const ImageNumbers* image : images) keys.push_back(KeyOf(*image));
  return keys;
}

PreparedItems PreparedForPairs(const Network& network, const std::vector<TokenSpan>& texts,
                               const std::vector<const ImageNumbers*>& images, uint64_t seed) {
  PreparedItems items;
  items.text_keys = KeysOf(texts);
  items.image_keys = KeysOf(images);
  {
    const DropoutScope scope(seed, items.text_keys);
    items.texts = network.PrepareTexts(texts);
  }
  const DropoutScope scope(seed, items.image_keys);
  items.images = network.PrepareImages(images);
  return items;
}

}  // namespace sightline
