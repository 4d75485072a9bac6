// What tells the items of a step apart in what is dropped of them (row_dropout.h): keys of what
// they hold, so that nobody has to know which row of the whole batch an item is.  Equal items of
// one step are dropped alike; all else about a step is in its seed.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_ITEM_KEYS_H_
#define SIGHTLINE_COMMON_TRAINING_ITEM_KEYS_H_

#include <cstdint>
#include <vector>

#include "common/models/network/network.h"

namespace sightline {

// The same on every machine and in every process.
uint64_t KeyOf(TokenSpan text);
uint64_t KeyOf(const ImageNumbers& image);
// Of a text with an image, which are no text and no image.
uint64_t KeyOfPair(uint64_t text, uint64_t image);

std::vector<uint64_t> KeysOf(const std::vector<TokenSpan>& texts);
std::vector<uint64_t> KeysOf(const std::vector<const ImageNumbers*>& images);

// Some texts and images of a step, and what they bring to pairs, once for all of these.
struct PreparedItems {
  std::vector<PreparedText> texts;
  std::vector<FeatureRows> images;
  std::vector<uint64_t> text_keys, image_keys;

  uint64_t KeyOfPair(int64_t text, int64_t image) const {
    return sightline::KeyOfPair(text_keys[text], image_keys[image]);
  }
};

// With what a step of `seed` drops of it.
PreparedItems PreparedForPairs(const Network& network, const std::vector<TokenSpan>& texts,
                               const std::vector<const ImageNumbers*>& images, uint64_t seed);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_ITEM_KEYS_H_
