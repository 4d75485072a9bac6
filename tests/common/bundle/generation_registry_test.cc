#include "common/bundle/generation_registry.h"

#include <memory>
#include <string>

#include "catch2/catch.hpp"

namespace sightline {
namespace {

using Registry = GenerationRegistry<std::string>;

Registry::Entry Entry(const std::string& index, const std::string& generation,
                      const std::string& held) {
  Registry::Entry entry;
  entry.manifest.set_index(index);
  entry.manifest.set_generation(generation);
  entry.manifest.mutable_embedding()->set_space("space of " + index);
  entry.held = std::make_shared<std::string>(held);
  return entry;
}

TEST_CASE("a generation is found by index, name and space") {
  Registry registry;
  registry.Put(Entry("images", "g1", "one"));
  registry.Put(Entry("images", "g2", "two"));
  registry.Put(Entry("captions", "g1", "three"));
  CHECK(*(*registry.Find("images", "g2", "space of images"))->held == "two");
  CHECK(*(*registry.Find("captions", "g1", "space of captions"))->held == "three");
}

TEST_CASE("what is not held and what lies elsewhere have reasons of their own") {
  Registry registry;
  registry.Put(Entry("images", "g1", "one"));
  registry.SetComplete();
  for (const auto& [index, generation] : {std::pair("images", "g2"), std::pair("films", "g1")}) {
    const absl::Status missing = registry.Find(index, generation, "space of images").status();
    CHECK(absl::IsFailedPrecondition(missing));
    REQUIRE(GetReason(missing).has_value());
    CHECK(GetReason(missing)->reason == "GENERATION_NOT_HELD");
    CHECK(GetReason(missing)->metadata.at("index") == index);
    CHECK(GetReason(missing)->metadata.at("generation") == generation);
  }
  const absl::Status elsewhere = registry.Find("images", "g1", "").status();
  CHECK(absl::IsFailedPrecondition(elsewhere));
  REQUIRE(GetReason(elsewhere).has_value());
  CHECK(GetReason(elsewhere)->reason == "EMBEDDING_SPACE_MISMATCH");
  CHECK(GetReason(elsewhere)->metadata.at("expectedSpace") == "space of images");
}

TEST_CASE("what a loading server does not hold yet is worth asking for again") {
  Registry registry;
  registry.Put(Entry("images", "g1", "one"));
  CHECK(registry.Find("images", "g1", "space of images").ok());
  const absl::Status early = registry.Find("films", "g1", "space of films").status();
  CHECK(absl::IsUnavailable(early));
  REQUIRE(GetReason(early).has_value());
  CHECK(GetReason(early)->reason == "SERVER_LOADING");
  CHECK(GetReason(early)->metadata.at("index") == "films");
}

TEST_CASE("a request keeps what was replaced since") {
  Registry registry;
  registry.Put(Entry("images", "g1", "old"));
  const auto before = registry.Find("images", "g1", "space of images");
  registry.Put(Entry("images", "g1", "new"));
  CHECK(*(*before)->held == "old");
  CHECK(*(*registry.Find("images", "g1", "space of images"))->held == "new");
}

TEST_CASE("all are listed by index and name") {
  Registry registry;
  registry.Put(Entry("images", "g2", "3"));
  registry.Put(Entry("images", "g1", "2"));
  registry.Put(Entry("captions", "g9", "1"));
  std::string order;
  for (const auto& entry : registry.All()) order += *entry->held;
  CHECK(order == "123");
}

}  // namespace
}  // namespace sightline
