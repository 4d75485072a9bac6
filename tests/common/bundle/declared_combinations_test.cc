#include "common/bundle/declared_combinations.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bundle::v1::CrossEncoderSpec Spec(const std::string& text) {
  bundle::v1::CrossEncoderSpec spec;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

bool Same(const DeclaredCombination& a, const DeclaredCombination& b) {
  return a.by_default == b.by_default && SameCombination(a.combination, b.combination);
}

const Combination kSum = {CombinationKind::kAddLambda, 0.75f};
const Combination kOther = {CombinationKind::kNormAddLambda, 0.25f};

TEST_CASE("one combination, as older bundles have it, is for both directions") {
  const auto declared =
      ReadCombinations(Spec("combination: 'add_lambda' combination_lambda: 0.75"));
  REQUIRE(declared.ok());
  REQUIRE(Same(declared->text_to_image, {kSum, true}));
  REQUIRE(Same(declared->image_to_text, {kSum, true}));
}

TEST_CASE("a direction has its own combination, or none but that of requests that ask") {
  const auto declared = ReadCombinations(
      Spec("combination: 'add_lambda' combination_lambda: 0.75 "
           "text_to_image { combination: 'norm_add_lambda' combination_lambda: 0.25 } "
           "image_to_text { combination: 'none' }"));
  REQUIRE(declared.ok());
  REQUIRE(Same(declared->text_to_image, {kOther, true}));
  REQUIRE(Same(declared->image_to_text, {kSum, false}));
}

TEST_CASE("what is written is read again") {
  for (const bool first : {true, false}) {
    for (const DeclaredCombination& second :
         {DeclaredCombination{kSum, true}, DeclaredCombination{kOther, true},
          DeclaredCombination{kSum, false}}) {
      bundle::v1::CrossEncoderSpec spec = Spec("score_kind: 'sigmoid' head_hidden_size: 9");
      WriteCombinations({{kOther}, {kOther, false}}, &spec);
      WriteCombinations({{kSum, first}, second}, &spec);
      REQUIRE(spec.score_kind() == "sigmoid");
      REQUIRE(spec.head_hidden_size() == 9);
      REQUIRE(spec.combination() == "add_lambda");  // what older programs read
      REQUIRE(spec.combination_lambda() == 0.75f);
      const auto declared = ReadCombinations(spec);
      REQUIRE(declared.ok());
      REQUIRE(Same(declared->text_to_image, {kSum, first}));
      REQUIRE(Same(declared->image_to_text, second));
    }
  }
}

TEST_CASE("what does not differ is not written apart") {
  bundle::v1::CrossEncoderSpec spec;
  WriteCombinations({{kSum}, {kSum}}, &spec);
  REQUIRE_FALSE(spec.has_text_to_image());
  REQUIRE_FALSE(spec.has_image_to_text());
}

TEST_CASE("names and lambdas that cannot be are refused with their field") {
  const auto refused = [](const std::string& text, const char* what) {
    const absl::Status status = ReadCombinations(Spec(text)).status();
    CAPTURE(status);
    return absl::IsInvalidArgument(status) && absl::StrContains(status.message(), what);
  };
  REQUIRE(refused("", "cross_encoder.combination: unknown combination \"\""));
  REQUIRE(refused("combination: 'none'", "cross_encoder.combination: unknown"));
  REQUIRE(refused("combination: 'add_lambda' combination_lambda: 1.5",
                  "cross_encoder.combination_lambda: lambda is 1.5"));
  REQUIRE(refused("combination: 'replace' text_to_image { combination: 'some' }",
                  "cross_encoder.text_to_image.combination: unknown combination \"some\""));
  REQUIRE(refused("combination: 'replace' text_to_image { combination: 'some' }", "or none"));
  REQUIRE(
      refused("combination: 'replace' image_to_text { combination: 'add_lambda' "
              "combination_lambda: -1 }",
              "cross_encoder.image_to_text.combination_lambda: lambda is -1"));
}

}  // namespace
}  // namespace sightline
