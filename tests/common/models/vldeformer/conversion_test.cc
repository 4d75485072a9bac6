// VLDeformer: what its checkpoints become.
#include <string>

#include "absl/strings/match.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;

TEST_CASE("a VLDeformer needs the lengths that it pads to") {
  Workplace place("oscar", 150);  // its config tells none
  MutableCheckpoint("vldeformer").SavePickle(place.options.checkpoint);
  const std::string message = place.Refusal();
  REQUIRE(StrContains(message, "--family oscar"));
  REQUIRE(StrContains(message, "--family vldeformer"));
  place.options.family = "vldeformer";
  REQUIRE(StrContains(place.Refusal(), "--max-tokens"));
  place.options.max_token_count = 35;
  place.options.region_count = 70;
  const Conversion conversion = place.MustConvert();
  REQUIRE(conversion.manifest.fixed_lengths().text_length() == 35);
  REQUIRE(conversion.manifest.fixed_lengths().tag_length() == 35);
  REQUIRE(conversion.manifest.fixed_lengths().region_count() == 70);
  REQUIRE(conversion.manifest.tags().max_token_count() == 35);
  REQUIRE(conversion.manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE);
  REQUIRE(Beginning(conversion.tensors, "bert.pooler").empty());
  REQUIRE(conversion.manifest.transformer().region_layer_norm());

  ConvertOptions golden = place.options;
  golden = ConvertOptions();
  golden.checkpoint = GoldenFolder("vldeformer");
  golden.vocabulary = place.options.vocabulary;
  const auto told = ConvertCheckpoint(golden);
  REQUIRE(told.ok());
  REQUIRE(told->manifest.family() == "vldeformer");
  REQUIRE(told->manifest.fixed_lengths().text_length() == 12);
  REQUIRE(told->manifest.fixed_lengths().tag_length() == 7);
  REQUIRE(told->manifest.fixed_lengths().region_count() == 9);
  REQUIRE(told->warnings.size() == 1);
  REQUIRE(StrContains(told->warnings[0], "--family oscar"));
  golden.family = "vldeformer";
  REQUIRE(ConvertCheckpoint(golden)->warnings.empty());
}

}  // namespace
}  // namespace sightline
