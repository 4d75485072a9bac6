#include "common/scenes/caption_text.h"

#include "absl/strings/ascii.h"

namespace sightline {
namespace {

using Grammar = std::string (*)(const SceneClaim& claim, CaptionFrame frame);

constexpr absl::string_view kLanguages[] = {"en", "de", "fr", "es"};
constexpr Grammar kGrammars[] = {SayInEnglish, SayInGerman, SayInFrench, SayInSpanish};

}  // namespace

absl::Span<const absl::string_view> CaptionLanguages() {
  return kLanguages;
}

std::string Say(absl::string_view language, const SceneClaim& claim, CaptionFrame frame) {
  size_t i = 0;
  while (kLanguages[i] != language) ++i;
  return kGrammars[i](claim, frame);
}

std::string Capitalized(std::string sentence) {
  const auto byte = [&sentence](size_t i) { return static_cast<unsigned char>(sentence[i]); };
  if (byte(0) == 0xc3 && byte(1) >= 0xa0 && byte(1) != 0xb7) {
    sentence[1] = static_cast<char>(byte(1) - 0x20);
  } else {
    sentence[0] = absl::ascii_toupper(sentence[0]);
  }
  return sentence;
}

}  // namespace sightline
