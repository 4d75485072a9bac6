#include "common/config/command.h"

#include <sstream>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

int RunGreet(const std::vector<std::string>& args, const Console& console);

constexpr Command kGreet = {"greet", "polite greet NAME [--loud]", "says hello", RunGreet};

int RunGreet(const std::vector<std::string>& args, const Console& console) {
  bool loud = false;
  Flags flags;
  flags.Switch("loud", "says it louder", &loud);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kGreet, &flags, args, console, &words, &status)) return status;
  if (words.size() != 1) return UsageError(kGreet, "give one name", console);
  if (words[0] == "nobody") return Fail(absl::NotFoundError("nobody is there"), console);
  console.out << "hello " << words[0] << (loud ? "!" : "") << "\n";
  return kSuccess;
}

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunProgram({"polite", "is kind.", {kGreet}}, args, {out, err});
  return {status, out.str(), err.str()};
}

TEST_CASE("the command that is named first runs with the rest") {
  const Ran ran = Run({"greet", "--loud", "Ada"});
  REQUIRE(ran.status == kSuccess);
  REQUIRE(ran.out == "hello Ada!\n");
  REQUIRE(ran.err.empty());
}

TEST_CASE("help asked for goes to stdout, help for lack of a command to stderr") {
  const Ran asked = Run({"help"});
  REQUIRE(asked.status == kSuccess);
  REQUIRE(asked.out ==
          "polite: is kind.\n\n  greet  says hello\n\n"
          "`polite COMMAND --help` tells the flags of a command.\n");
  const Ran nothing = Run({});
  REQUIRE(nothing.status == kUsageError);
  REQUIRE(nothing.err == asked.out);
  REQUIRE(nothing.out.empty());
  REQUIRE(absl::StartsWith(Run({"greet", "--help"}).out, "usage: polite greet NAME [--loud]\n"));
}

TEST_CASE("mistakes and failures have a status each") {
  REQUIRE(Run({"gret", "Ada"}).err == "unknown command 'gret'; did you mean greet?\n");
  REQUIRE(Run({"gret", "Ada"}).status == kUsageError);
  const Ran none = Run({"greet"});
  REQUIRE(none.status == kUsageError);
  REQUIRE(none.err == "give one name\nusage: polite greet NAME [--loud]\n");
  const Ran failed = Run({"greet", "nobody"});
  REQUIRE(failed.status == kFailure);
  REQUIRE(failed.err == "error: NOT_FOUND: nobody is there\n");
}

TEST_CASE("an error that may pass asks to be run again") {
  std::ostringstream out, err;
  REQUIRE(Fail(absl::UnavailableError("not yet"), {out, err}) == kRunAgain);
  REQUIRE(err.str() == "error: UNAVAILABLE: not yet\n");
}

TEST_CASE("commands that are elsewhere are named, and whoever asks for one learns where") {
  const Program program = {"polite", "is kind.", {kGreet}, {"bow", "curtsey"}, "the hall has them"};
  const auto run = [&](const std::string& word) {
    std::ostringstream out, err;
    const int status = RunProgram(program, {word}, {out, err});
    return Ran{status, out.str(), err.str()};
  };
  REQUIRE(absl::EndsWith(run("help").out, "\nNot here: bow, curtsey; the hall has them.\n"));
  REQUIRE(run("bow").status == kUsageError);
  REQUIRE(run("bow").err == "this polite has no command 'bow'; the hall has them\n");
  REQUIRE(run("curtsy").err == "unknown command 'curtsy'; did you mean curtsey?\n");
  REQUIRE(run("whistle").err == "unknown command 'whistle'; there are: greet\n");
}

TEST_CASE("several problems have a line each, which is no detail") {
  absl::Status status = absl::InvalidArgumentError("a.yaml:1:1: x\nreason: \x1B[1my");
  status = WithRetryDelay(status, absl::Milliseconds(100));
  REQUIRE(FormatError(status) ==
          "error: INVALID_ARGUMENT: a.yaml:1:1: x\n"
          "    reason: \xEF\xBF\xBD[1my\n"
          "  try again after 100ms\n");
}

TEST_CASE("retry delays and preconditions are told") {
  absl::Status status = WithRetryDelay(absl::UnavailableError("busy"), absl::Milliseconds(100));
  status = WithPrecondition(status, {"GENERATION", "indexes/a", "not \x1B[1mheld"});
  REQUIRE(FormatError(status) ==
          "error: UNAVAILABLE: busy\n"
          "  precondition: GENERATION indexes/a: not \xEF\xBF\xBD[1mheld\n"
          "  try again after 100ms\n");
}

}  // namespace
}  // namespace sightline
