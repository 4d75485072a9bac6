#include "common/rpc/credentials.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/match.h"
#include "common/base/server_address.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("both ends of a connection have credentials of each kind") {
  grpc::ChannelArguments arguments;
  REQUIRE(*ChannelCredentialsOf({kPlaintext}, &arguments) != nullptr);
  REQUIRE(*ServerCredentialsOf({kPlaintext}) != nullptr);
  REQUIRE(ServerAddress("localhost:7400").credentials.kind == kPlaintext);
}

TEST_CASE("a kind that is none is refused with those that there are") {
  grpc::ChannelArguments arguments;
  for (const absl::Status& status : {ChannelCredentialsOf({"runes"}, &arguments).status(),
                                     ServerCredentialsOf({"runes"}).status()}) {
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), "'runes'; there is plaintext"));
  }
}

}  // namespace
}  // namespace sightline
