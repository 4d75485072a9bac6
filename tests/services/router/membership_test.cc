#include "services/router/membership.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("names become their addresses, in place and each once") {
  Membership members;
  members.encoders = {"e:1", "dns:///encoders:7401", "10.0.0.2:7401"};
  members.rerankers = {"dns:///unknown:1"};
  members.indexes["images"] = {{"dns:///shard-0:2"}, {"s:1"}};
  const Membership expanded =
      Expand(members, {{"dns:///encoders:7401", {"10.0.0.1:7401", "10.0.0.2:7401"}},
                       {"dns:///shard-0:2", {"10.0.0.3:2"}}});
  CHECK(expanded.encoders == Addresses{"e:1", "10.0.0.1:7401", "10.0.0.2:7401"});
  CHECK(expanded.rerankers.empty());
  CHECK(expanded.indexes.at("images") == std::vector<Addresses>{{"10.0.0.3:2"}, {"s:1"}});
  CHECK(NamesOf(members) ==
        std::vector<std::string>{"dns:///encoders:7401", "dns:///shard-0:2", "dns:///unknown:1"});
  CHECK(AllAddresses(expanded).size() == 5);
}

TEST_CASE("a name needs a host and a port") {
  CHECK(CheckEntry("dns:///a.b:1").ok());
  CHECK(CheckEntry("host:1").ok());
  for (const char* bad : {"dns:///a", "dns:///:1", "dns:///a:0", "dns:///a:65536", "dns:///a:b",
                          "dns:///a/b:1", "dns:///"}) {
    CAPTURE(bad);
    CHECK(absl::IsInvalidArgument(CheckEntry(bad)));
  }
}

TEST_CASE("localhost has an address, and a name that cannot be has none") {
  const auto found = LookUp("dns:///localhost:7400");
  REQUIRE(found.ok());
  CHECK(*found == Addresses{"127.0.0.1:7400"});
  // RFC 6761 keeps this from ever being a name.
  CHECK(absl::IsUnavailable(LookUp("dns:///nowhere.invalid:1").status()));
}

}  // namespace
}  // namespace sightline
