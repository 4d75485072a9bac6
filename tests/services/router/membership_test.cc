#include "services/router/membership.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("names become their addresses, in place and each once") {
  Membership members;
  members.encoders = {"10.0.0.7:1", "dns:///encoders:7401", "10.0.0.2:7401"};
  members.rerankers = {"dns:///unknown:1", "unknown:2"};
  members.indexes["images"] = {{"dns:///shard-0:2"}, {"[::1]:1"}};
  const Membership expanded =
      Expand(members, {{"dns:///encoders:7401", {"10.0.0.1:7401", "10.0.0.2:7401"}},
                       {"dns:///shard-0:2", {"10.0.0.3:2"}}});
  CHECK(expanded.encoders == Addresses{"10.0.0.7:1", "10.0.0.1:7401", "10.0.0.2:7401"});
  CHECK(expanded.rerankers.empty());
  CHECK(expanded.indexes.at("images") == std::vector<Addresses>{{"10.0.0.3:2"}, {"[::1]:1"}});
  CHECK(NamesOf(members) == std::vector<std::string>{"dns:///encoders:7401", "dns:///shard-0:2",
                                                     "dns:///unknown:1", "unknown:2"});
  CHECK(AllAddresses(expanded).size() == 5);
}

TEST_CASE("host:port is one replica, with however many addresses") {
  Membership members;
  members.encoders = {"one:1", "two:1"};
  const Membership expanded =
      Expand(members, {{"one:1", {"10.0.0.1:1"}}, {"two:1", {"10.0.0.2:1", "10.0.0.3:1"}}});
  CHECK(expanded.encoders == Addresses{"10.0.0.1:1", "10.0.0.2:1,10.0.0.3:1"});
}

TEST_CASE("addresses are no names, and channels are told so") {
  for (const char* address : {"10.0.0.1:7402", "[::1]:7402", "unix:/tmp/socket"}) {
    CAPTURE(address);
    CHECK(!IsName(address));
  }
  CHECK(IsName("search-0.search:7402"));
  CHECK(IsName("10.0.0.256:7402"));
  CHECK(ChannelTarget("10.0.0.1:7402") == "ipv4:10.0.0.1:7402");
  CHECK(ChannelTarget("10.0.0.1:1,10.0.0.2:1") == "ipv4:10.0.0.1:1,10.0.0.2:1");
  CHECK(ChannelTarget("[::1]:1,[::2]:1") == "ipv6:[::1]:1,[::2]:1");
  CHECK(ChannelTarget("unix:/tmp/socket") == "unix:/tmp/socket");
}

TEST_CASE("an entry needs a host and a port, or a path") {
  for (const char* good : {"dns:///a.b:1", "host:1", "search-0.search_a:65535", "10.0.0.7:7401",
                           "[::1]:7401", "[fe80::1%eth0]:1", "unix:/run/encoder"}) {
    CAPTURE(good);
    CHECK(CheckEntry(good).ok());
  }
  for (const char* bad : {"dns:///a",
                          "dns:///:1",
                          "dns:///a:0",
                          "dns:///a:65536",
                          "dns:///a:b",
                          "dns:///a/b:1",
                          "dns:///",
                          "dns:///[::1]:1",
                          "10.0.0.7",
                          "enc",
                          "enc:99999",
                          "enc:0",
                          "enc:+1",
                          "enc: 1",
                          "enc:",
                          ":7401",
                          "",
                          "a b:1",
                          "a,b:1",
                          "::1:7401",
                          "[::1]",
                          "[::1]:0",
                          "[10.0.0.7]:1",
                          "[]:1",
                          "unix:path",
                          "unix:",
                          "ipv4:10.0.0.7:1",
                          "xds:///encoders",
                          "http://enc:1"}) {
    CAPTURE(bad);
    const absl::Status status = CheckEntry(bad);
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains(absl::StrCat("'", bad, "'")));
  }
}

TEST_CASE("localhost has an address, and a name that cannot be has none") {
  const auto found = LookUp("dns:///localhost:7400");
  REQUIRE(found.ok());
  CHECK(*found == Addresses{"127.0.0.1:7400"});
  CHECK(*LookUp("localhost:7400") == *found);
  // RFC 6761 keeps this from ever being a name.
  CHECK(absl::IsUnavailable(LookUp("dns:///nowhere.invalid:1").status()));
}

}  // namespace
}  // namespace sightline
