#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

constexpr absl::string_view kDrawnWords[] = {
    "ACTION",   "AUTUMN",  "BAKERY",  "BASIC",   "BONUS",    "BRIGHT", "CAFE",   "CALM",   "CIRCUS",
    "CITY",     "CLASSIC", "CLOSED",  "COMFORT", "CURRY",    "DANGER", "DELUXE", "DREAM",  "ENERGY",
    "ENTRY",    "EXIT",    "EXPRESS", "FAMOUS",  "FESTIVAL", "FINAL",  "FRESH",  "FUTURE", "GALA",
    "GARAGE",   "GENIUS",  "GRAND",   "HAPPY",   "HELLO",    "HOTEL",  "IDEAL",  "JAZZ",   "JUNGLE",
    "LUCKY",    "MAGIC",   "MAXI",    "METRO",   "MUSEUM",   "NATURE", "NORTH",  "OASIS",  "OPEN",
    "PARADISE", "PARK",    "PIZZA",   "POLAR",   "PUBLIC",   "QUICK",  "QUIET",  "RADIO",  "ROYAL",
    "SALE",     "SCHOOL",  "SILENCE", "SMART",   "SOLO",     "SOUTH",  "SPEED",  "STOP",   "SUMMER",
    "SUPER",    "TAXI",    "THEATRE", "TODAY",   "TROPICAL", "TURBO",  "ULTRA",  "VACANT", "VELVET",
    "WELCOME",  "WINTER",  "YOGA",    "ZERO",
};

}  // namespace

absl::Span<const absl::string_view> DrawnWords() {
  return kDrawnWords;
}

SceneTint HeldOutTint(int noun) {
  return static_cast<SceneTint>(noun % kTintCount);
}

}  // namespace sightline
