#include "common/generations/generation_table.h"

#include <memory>
#include <string>

#include "common/base/error_details.h"
#include "common/generations/generation_registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/ready_generation.h"

namespace sightline {
namespace {

using Registry = GenerationRegistry<std::string>;

void Put(Registry* registry, const std::string& index, const std::string& generation,
         const std::string& held) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(index);
  manifest.set_generation(generation);
  manifest.mutable_embedding()->set_space("space of " + index);
  PutReady<std::string>(registry, manifest, std::make_shared<std::string>(held));
}

TEST_CASE("a generation is found by index, name and space") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  Put(&registry, "images", "g2", "two");
  Put(&registry, "captions", "g1", "three");
  CHECK(*registry.Find("images", "g2", "space of images")->held == "two");
  CHECK(*registry.Find("captions", "g1", "space of captions")->held == "three");
}

TEST_CASE("what is not held and what lies elsewhere have reasons of their own") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  registry.table()->SetComplete();
  for (const auto& [index, generation] : {std::pair("images", "g2"), std::pair("films", "g1")}) {
    const absl::Status missing = registry.Find(index, generation, "space of images").status();
    CHECK(absl::IsFailedPrecondition(missing));
    REQUIRE(HasReason(missing, reasons::kGenerationNotHeld));
    CHECK(GetReason(missing)->metadata.at("index") == index);
    CHECK(GetReason(missing)->metadata.at("generation") == generation);
  }
  const absl::Status elsewhere = registry.Find("images", "g1", "").status();
  CHECK(absl::IsFailedPrecondition(elsewhere));
  CHECK(HasReason(elsewhere, reasons::kEmbeddingSpaceMismatch));
  CHECK(GetReason(elsewhere)->metadata.at("expectedSpace") == "space of images");
}

TEST_CASE("what a loading server does not hold yet is worth asking for again") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  CHECK(registry.Find("images", "g1", "space of images").ok());
  const absl::Status early = registry.Find("films", "g1", "space of films").status();
  CHECK(absl::IsUnavailable(early));
  CHECK(HasReason(early, reasons::kServerLoading));
  CHECK(GetReason(early)->metadata.at("index") == "films");
}

TEST_CASE("what is being loaded is worth asking for again, after a refusal too") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  registry.table()->SetComplete();
  HeldGeneration entry = *registry.table()->Get("images", "g1");
  entry.state = HoldState::kLoading;
  entry.held = nullptr;
  registry.table()->Put(entry);
  const absl::Status early = registry.Find("images", "g1", "space of images").status();
  CHECK(absl::IsUnavailable(early));
  CHECK(HasReason(early, reasons::kServerLoading));
}

TEST_CASE("a request keeps what was replaced since") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "old");
  const auto before = registry.Find("images", "g1", "space of images");
  Put(&registry, "images", "g1", "new");
  CHECK(*before->held == "old");
  CHECK(*registry.Find("images", "g1", "space of images")->held == "new");
}

TEST_CASE("all are listed by index and name") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g2", "3");
  Put(&registry, "images", "g1", "2");
  Put(&registry, "captions", "g9", "1");
  std::string order;
  for (const HeldGeneration& entry : registry.table()->All()) {
    order += *static_cast<const std::string*>(entry.held.get());
  }
  CHECK(order == "123");
  CHECK(registry.table()->OfIndex("images").size() == 2);
}

TEST_CASE("what is loading or refused is known, but no request finds it") {
  FakeClock clock;
  GenerationTable table(&clock);
  HeldGeneration entry;
  entry.index = "images";
  entry.generation = "g1";
  table.Put(entry);
  CHECK(table.Get("images", "g1")->state == HoldState::kLoading);
  CHECK(absl::IsUnavailable(table.Find("images", "g1", "").status()));
  entry.state = HoldState::kRefused;
  table.Put(entry);
  table.SetComplete();
  CHECK(table.Get("images", "g1")->state == HoldState::kRefused);
  CHECK(absl::IsFailedPrecondition(table.Find("images", "g1", "").status()));
  table.SetSequence("images", "g1", 7);
  CHECK(table.Get("images", "g1")->sequence == 7);
}

TEST_CASE("a request that found a generation keeps it alive, and its time is noted") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  CHECK(registry.table()->LastUse("images", "g1") == absl::InfinitePast());
  clock.Advance(absl::Seconds(5));
  const auto found = registry.Find("images", "g1", "space of images");
  REQUIRE(found.ok());
  CHECK(registry.table()->LastUse("images", "g1") == clock.Now());
  registry.table()->Remove("images", "g1");
  CHECK(*found->held == "one");
  CHECK(!registry.table()->Get("images", "g1").has_value());
}

TEST_CASE("a request for the wrong space is no use of a generation") {
  FakeClock clock;
  Registry registry(&clock);
  Put(&registry, "images", "g1", "one");
  CHECK(!registry.Find("images", "g1", "elsewhere").ok());
  CHECK(registry.table()->LastUse("images", "g1") == absl::InfinitePast());
}

}  // namespace
}  // namespace sightline
