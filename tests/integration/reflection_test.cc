// The first call that a reader of the README makes, made as the README says: by a client
// that has nothing but the reflection service to know ours from.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/rpc/channel.h"
#include "tests/integration/fleet.h"
#include "tests/integration/grpcurl.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

namespace pb = ::google::protobuf;

constexpr char kService[] = "sightline.v1.Search";
constexpr char kQuery[] = R"({"query": {"text": "a red fish"}, "top_k": 5})";

Fleet& TheFleet() {
  static TempDir* const directory = new TempDir;
  static const TinyStore* const store = new TinyStore(MakeTinyStore(directory->path(), 20));
  static Fleet fleet(*store, LaunchProcess);
  return fleet;
}

absl::StatusCode CodeOf(const std::string& service, const std::string& method,
                        const std::string& json) {
  Grpcurl grpcurl(MakeChannel(TheFleet().router().address()));
  const auto answer = grpcurl.Call(service, method, json);
  INFO(answer.status().ToString());
  return answer.status().code();
}

std::vector<GrpcurlCommand> CommandsIn(const std::string& text) {
  const auto commands = FindGrpcurlCommands(text);
  INFO(commands.status().ToString());
  REQUIRE(commands.ok());
  return *commands;
}

}  // namespace

TEST_CASE("the README's grpcurl command finds hits") {
  const auto readme = ReadFile("README.md");
  REQUIRE(readme.ok());
  const std::vector<GrpcurlCommand> commands = CommandsIn(*readme);
  REQUIRE(std::any_of(commands.begin(), commands.end(), [](const GrpcurlCommand& command) {
    return command.service == kService && command.method == "SearchItems";
  }));
  for (const GrpcurlCommand& command : commands) {
    INFO(command.service << "/" << command.method << " " << command.json);
    REQUIRE(command.address == "localhost:7400");
    Grpcurl grpcurl(MakeChannel(TheFleet().router().address()));
    const auto answer = grpcurl.Call(command.service, command.method, command.json);
    INFO(answer.status().ToString());
    REQUIRE(answer.ok());
    if (command.method != "SearchItems") continue;
    const pb::Message& response = **answer;
    const pb::FieldDescriptor* const hits = response.GetDescriptor()->FindFieldByName("hits");
    REQUIRE(hits != nullptr);
    REQUIRE(response.GetReflection()->FieldSize(response, hits) > 0);
    const pb::Message& first = response.GetReflection()->GetRepeatedMessage(response, hits, 0);
    const pb::FieldDescriptor* const id = first.GetDescriptor()->FindFieldByName("item_id");
    REQUIRE(id != nullptr);
    REQUIRE_FALSE(first.GetReflection()->GetString(first, id).empty());
  }
}

TEST_CASE("a command that names what there is not would be noticed") {
  REQUIRE(CodeOf(kService, "SearchItems", kQuery) == absl::StatusCode::kOk);
  REQUIRE(CodeOf("sightline.v1.Searcher", "SearchItems", kQuery) == absl::StatusCode::kNotFound);
  REQUIRE(CodeOf(kService, "FindItems", kQuery) == absl::StatusCode::kNotFound);
  REQUIRE(CodeOf(kService, "SearchItems", R"({"query": {"words": "a red fish"}})") ==
          absl::StatusCode::kInvalidArgument);
  REQUIRE(CodeOf(kService, "SearchItems", "{") == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("commands are found on lines of their own, and none is passed over") {
  const std::string command = absl::StrCat("grpcurl -plaintext -d '", kQuery,
                                           "' localhost:7400 sightline.v1.Search/SearchItems");
  REQUIRE(CommandsIn("# Sightline\n\nWith grpcurl it is one line.\n").empty());
  const std::vector<GrpcurlCommand> found =
      CommandsIn(absl::StrCat("```sh\n", command, "\n$ ", command, "\n```\n"));
  REQUIRE(found.size() == 2);
  for (const GrpcurlCommand& one : found) {
    REQUIRE(one.json == kQuery);
    REQUIRE(one.address == "localhost:7400");
    REQUIRE(one.service == kService);
    REQUIRE(one.method == "SearchItems");
  }
  REQUIRE_FALSE(FindGrpcurlCommands("grpcurl -d '{}' localhost:7400 a.B/C").ok());
}

}  // namespace sightline
