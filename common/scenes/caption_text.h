// Claims in words.  Each language has its own grammar in a file of its own, and each says a claim
// in kFrameCount ways.
#ifndef SIGHTLINE_COMMON_SCENES_CAPTION_TEXT_H_
#define SIGHTLINE_COMMON_SCENES_CAPTION_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/scenes/scene_claim.h"

namespace sightline {

// What the sentence is like; the same in every language.  A and B are the first two objects.
enum class CaptionFrame {
  kNoun,     // Two red apples to the left of a dog.
  kThere,    // There are two red apples to the left of a dog.
  kFronted,  // To the left of a dog there are two red apples.
  kPicture,  // A picture of two red apples to the left of a dog.
  kCopula,   // Two red apples are to the left of a dog.
  kSee,      // You can see two red apples to the left of a dog.
};
inline constexpr int kFrameCount = 6;

// "en", "de", "fr" and "es", in this order.
absl::Span<const absl::string_view> CaptionLanguages();

// A sentence, in UTF-8.  `language` is one of CaptionLanguages().
std::string Say(absl::string_view language, const SceneClaim& claim, CaptionFrame frame);

std::string SayInEnglish(const SceneClaim& claim, CaptionFrame frame);
std::string SayInGerman(const SceneClaim& claim, CaptionFrame frame);
std::string SayInFrench(const SceneClaim& claim, CaptionFrame frame);
std::string SayInSpanish(const SceneClaim& claim, CaptionFrame frame);

// "a" -> "A", for words that begin with a letter of ASCII or of Latin-1.
std::string Capitalized(std::string sentence);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_CAPTION_TEXT_H_
