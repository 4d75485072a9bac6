#include "common/bundle/rerankers.h"

#include <string>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/bundle/manifest.h"
#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

const NamedReranker kFast{"fast", Sha256Hex("fast")};
const NamedReranker kFine{"fine", Sha256Hex("fine")};
const NamedReranker kPlain{kDefaultReranker, Sha256Hex("plain")};

GenerationManifest With(const std::vector<NamedReranker>& rerankers) {
  GenerationManifest manifest = SoundGenerationManifest();
  SetRerankers(rerankers, &manifest);
  return manifest;
}

TEST_CASE("a manifest that knows one reranker without a name calls it default") {
  const GenerationManifest manifest = SoundGenerationManifest();
  REQUIRE(manifest.rerankers_size() == 0);
  const std::vector<NamedReranker> expected = {{"default", manifest.reranker_model()}};
  REQUIRE(RerankersOf(manifest) == expected);
  // What is written for it is what always was.
  REQUIRE(ManifestJson(With(expected)) == ManifestJson(manifest));
}

TEST_CASE("rerankers come back as they were set, the default first") {
  for (const auto& rerankers :
       std::vector<std::vector<NamedReranker>>{{kFast}, {kFast, kFine}, {kPlain, kFine, kFast}}) {
    const GenerationManifest manifest = With(rerankers);
    REQUIRE(CheckGenerationManifest(manifest).ok());
    REQUIRE(RerankersOf(manifest) == rerankers);
    REQUIRE(manifest.reranker_model() == rerankers[0].model);
    const auto read = ParseGenerationManifest(ManifestJson(manifest));
    REQUIRE(read.ok());
    REQUIRE(RerankersOf(*read) == rerankers);
  }
  REQUIRE(RerankersOf(With({})).empty());
}

TEST_CASE("the default comes first wherever the manifest lists it") {
  GenerationManifest manifest = With({kFast, kFine, kPlain});
  manifest.set_reranker_model(kPlain.model);
  REQUIRE(RerankersOf(manifest) == std::vector<NamedReranker>{kPlain, kFast, kFine});
}

TEST_CASE("a name chooses its reranker, and none the first") {
  const std::vector<NamedReranker> rerankers = {kFast, kFine};
  REQUIRE(*FindReranker(rerankers, "") == &rerankers[0]);
  REQUIRE(*FindReranker(rerankers, "fast") == &rerankers[0]);
  REQUIRE(*FindReranker(rerankers, "fine") == &rerankers[1]);
  REQUIRE(*FindReranker(std::vector<NamedReranker>(), "") == nullptr);
}

TEST_CASE("a name that there is not is refused with those that there are") {
  const absl::Status status = FindReranker<NamedReranker>({kFast, kFine}, "finest").status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(HasReason(status, reasons::kUnknownReranker));
  const std::string message(status.message());
  REQUIRE(message.find("'finest'") != std::string::npos);
  REQUIRE(message.find("fast, fine") != std::string::npos);
  REQUIRE(absl::IsInvalidArgument(FindReranker<NamedReranker>({}, "fast").status()));
}

TEST_CASE("rerankers as text are what a command line takes") {
  REQUIRE(RerankersText({}) == "");
  REQUIRE(RerankersText({kPlain}) == kPlain.model);
  REQUIRE(RerankersText({kPlain, kFine}) == kPlain.model + ",fine=" + kFine.model);
}

}  // namespace
}  // namespace sightline
