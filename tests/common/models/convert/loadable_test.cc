// What is converted can be loaded, or is not converted.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/convert/convert.h"
#include "common/models/family_manifests.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Golden {
  std::string name;
  int words;
};

const Golden kGoldens[] = {
    {"lightningdot", 150}, {"lightningdot_scene_text", 150},
    {"m3p", 90},           {"oscar", 150},
    {"oscar_ln", 150},     {"saf", 60},
    {"saf_temde", 60},     {"sgr", 60},
    {"sgr_temde", 60},     {"uniter_small", 120},
    {"vldeformer", 150},
};

TEST_CASE("what is converted has a manifest that its family accepts") {
  for (const Golden& golden : kGoldens) {
    INFO(golden.name);
    Workplace place(golden.name, golden.words);
    place.options.checkpoint = GoldenFolder(golden.name);
    place.options.scene_text = golden.name == "lightningdot_scene_text";
    // uniter_small holds its weights twice, as a pickle too.
    if (golden.name == "uniter_small") place.options.checkpoint += "/weights.pt";
    REQUIRE(CheckManifest(place.MustConvert().manifest).ok());
  }
}

TEST_CASE("what no server would load is refused, with the option that would change it") {
  struct Case {
    Golden golden;
    std::function<void(ConvertOptions*)> set;
    std::vector<std::string> told;
  };
  using Options = ConvertOptions*;
  const Case cases[] = {
      {{"uniter_small", 120},
       [](Options options) { options->max_token_count = 9999, options->region_count = 5000; },
       {"tokenizer.max_token_count is 9999, must be 3 to 512", "only 64 positions",
        "--max-tokens sets tokenizer.max_token_count",
        "max_region_count is 5000, must be 1 to 1024",
        "--regions sets transformer.max_region_count"}},
      {{"uniter_small", 120},
       [](Options options) { options->region_count = (int64_t{1} << 32) + 36; },
       {"max_region_count is 2147483647"}},
      {{"lightningdot", 150},
       [](Options options) { options->max_token_count = 65; },
       {"only 64 positions", "--max-tokens"}},
      {{"lightningdot_scene_text", 150},
       [](Options options) { options->scene_text = true, options->region_count = 0; },
       {"max_region_count is 0", "--regions"}},
      {{"lightningdot", 150},
       [](Options options) {
         options->confidence_floor = 1.5, options->min_region_count = 37,
         options->region_count = 36;
       },
       {"confidence_floor is 1.5", "--confidence-floor sets", "min_count is 37, must be 0 to 36",
        "--min-regions sets"}},
      {{"lightningdot_scene_text", 150},
       [](Options options) {
         options->scene_text = true, options->scene_token_count = 60, options->scene_position = 9,
         options->scene_token_type = 2;
       },
       {"needs position 69, but there are only 64", "--ocr-tokens sets scene_text.max_token_count",
        "--ocr-position sets scene_text.first_position", "token_type is 2", "--ocr-type sets"}},
      {{"oscar", 150},
       [](Options options) { options->tag_token_count = 65; },
       {"tags.max_token_count is 65, must be 5 to 64", "--tag-tokens sets"}},
      {{"vldeformer", 150},
       [](Options options) { options->tag_padding_type = 2, options->region_count = 1025; },
       {"tag_padding_type is 2, must be 0 to 1", "--tag-padding-type sets", "--regions sets"}},
      {{"m3p", 90},
       [](Options options) { options->region_count = 600; },
       {"make 603 rows, but there are only 514 positions", "--max-tokens", "--regions"}},
      {{"sgr", 60},
       [](Options options) { options->max_token_count = 2; },
       {"max_token_count is 2, must be 3 to 512", "--max-tokens"}},
      {{"saf", 60}, [](Options options) { options->region_count = 35; }, {"has 36 channels"}},
      {{"sgr_temde", 60},
       [](Options options) { options->region_count = 2000; },
       {"sgraf.region_count is 2000", "--regions sets sgraf.region_count"}},
  };
  for (const Case& each : cases) {
    INFO(each.golden.name);
    Workplace place(each.golden.name, each.golden.words);
    place.options.checkpoint = GoldenFolder(each.golden.name) + "/weights.safetensors";
    each.set(&place.options);
    const std::string message = place.Refusal();
    INFO(message);
    REQUIRE(absl::StartsWith(message, place.options.checkpoint));
    for (const std::string& words : each.told) REQUIRE(absl::StrContains(message, words));
  }
}

TEST_CASE("fewer regions than UNITER's rule keeps are all kept") {
  Workplace place("uniter_small", 120);
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.pt";
  place.options.region_count = 5;
  REQUIRE(place.MustConvert().manifest.region_rule().min_count() == 5);
}

}  // namespace
}  // namespace sightline
