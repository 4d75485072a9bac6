#include "common/rpc/credentials.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/server_address.h"

namespace sightline {
namespace {

struct CredentialsKind {
  const char* name;
  std::shared_ptr<grpc::ChannelCredentials> (*of_channel)();
  std::shared_ptr<grpc::ServerCredentials> (*of_server)();
};

// All that there are, a line each.
constexpr CredentialsKind kCredentials[] = {
    {kPlaintext, &grpc::InsecureChannelCredentials, &grpc::InsecureServerCredentials},
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

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(
    const std::string& name) {
  const auto kind = Find(name);
  if (!kind.ok()) return kind.status();
  return (*kind)->of_channel();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(
    const std::string& name) {
  const auto kind = Find(name);
  if (!kind.ok()) return kind.status();
  return (*kind)->of_server();
}

}  // namespace sightline
