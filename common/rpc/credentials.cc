#include "common/rpc/credentials.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using ForChannel = absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>>;
using ForServer = absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>>;

struct CredentialsKind {
  const char* name;
  ForChannel (*of_channel)(const Credentials& credentials, grpc::ChannelArguments* arguments);
  ForServer (*of_server)(const Credentials& credentials);
};

ForChannel PlaintextChannel(const Credentials&, grpc::ChannelArguments*) {
  return grpc::InsecureChannelCredentials();
}

ForServer PlaintextServer(const Credentials&) {
  return grpc::InsecureServerCredentials();
}

// All that there are, a line each.
constexpr CredentialsKind kCredentials[] = {
    {kPlaintext, &PlaintextChannel, &PlaintextServer},
};

absl::StatusOr<const CredentialsKind*> Find(const std::string& name) {
  std::vector<const char*> known;
  for (const CredentialsKind& kind : kCredentials) {
    if (kind.name == name) return &kind;
    known.push_back(kind.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there are no credentials '", name, "'; there is ", absl::StrJoin(known, ", ")));
}

}  // namespace

ForChannel ChannelCredentialsOf(const Credentials& credentials, grpc::ChannelArguments* arguments) {
  ASSIGN_OR_RETURN(const CredentialsKind* const kind, Find(credentials.kind));
  return kind->of_channel(credentials, arguments);
}

ForServer ServerCredentialsOf(const Credentials& credentials) {
  ASSIGN_OR_RETURN(const CredentialsKind* const kind, Find(credentials.kind));
  return kind->of_server(credentials);
}

}  // namespace sightline
