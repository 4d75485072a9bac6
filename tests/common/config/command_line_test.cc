#include "common/config/command_line.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Targets {
  std::string name = "default";
  std::vector<std::string> files;
  absl::optional<int64_t> count;
  absl::Duration timeout = absl::Seconds(2);
  bool json = false;
};

void Define(Targets* targets, Flags* flags) {
  flags->String("name", "NAME", "of the thing", &targets->name);
  flags->Strings("file", "FILE", "to read; repeatable", &targets->files);
  flags->Int("count", "how many", 1, 10, &targets->count);
  flags->Duration("timeout", "how long", &targets->timeout);
  flags->Switch("json", "print JSON", &targets->json);
}

// The words, or the problems in parentheses.
std::vector<std::string> Parse(const std::vector<std::string>& args, Targets* targets) {
  Flags flags;
  Define(targets, &flags);
  const auto words = flags.Parse(args);
  if (!words.ok()) return {"(" + std::string(words.status().message()) + ")"};
  return *words;
}

std::vector<std::string> Parse(const std::vector<std::string>& args) {
  Targets targets;
  return Parse(args, &targets);
}

using Words = std::vector<std::string>;

TEST_CASE("flags and words may be mixed, with = or a space between name and value") {
  Targets targets;
  REQUIRE(Parse({"a", "--name", "x y", "b", "--count=3", "--file", "1", "--json", "--file=2",
                 "--timeout", "1m30s", "c"},
                &targets) == Words{"a", "b", "c"});
  REQUIRE(targets.name == "x y");
  REQUIRE(targets.count == 3);
  REQUIRE(targets.files == Words{"1", "2"});
  REQUIRE(targets.timeout == absl::Seconds(90));
  REQUIRE(targets.json);
}

TEST_CASE("what is not given keeps its default") {
  Targets targets;
  REQUIRE(Parse({}, &targets).empty());
  REQUIRE(targets.name == "default");
  REQUIRE_FALSE(targets.count.has_value());
  REQUIRE(targets.timeout == absl::Seconds(2));
  REQUIRE_FALSE(targets.json);
}

TEST_CASE("after -- nothing is a flag, and a dash alone is a word") {
  REQUIRE(Parse({"-", "--", "--name", "-x", "--"}) == Words{"-", "--name", "-x", "--"});
}

TEST_CASE("a value may be empty and may look like a flag") {
  Targets targets;
  REQUIRE(Parse({"--name=", "--file", "--json"}, &targets).empty());
  REQUIRE(targets.name.empty());
  REQUIRE(targets.files == Words{"--json"});
  REQUIRE_FALSE(targets.json);
}

TEST_CASE("an unknown flag is refused with the one that was probably meant") {
  REQUIRE(Parse({"--nmae=x"}) == Words{"(unknown flag --nmae; did you mean --name?)"});
  REQUIRE(Parse({"--frobnicate"}) == Words{"(unknown flag --frobnicate)"});
  REQUIRE(Parse({"-n"}) == Words{"(unknown flag -n; flags begin with --, and what follows -- "
                                 "alone is no flag)"});
}

TEST_CASE("all problems are told at once") {
  REQUIRE(Parse({"--cuont=3", "--timeout=soon", "--json=yes", "--name=a", "--name=b", "--count"}) ==
          Words{"(unknown flag --cuont; did you mean --count?\n"
                "--timeout: 'soon' is not a positive time like 300ms or 2s\n"
                "--json takes no value\n"
                "--name is given twice\n"
                "--count needs a value: N)"});
}

TEST_CASE("numbers must be whole and in range, times positive") {
  for (const char* bad : {"0", "11", "-1", "3.5", "three", "", "99999999999999999999"}) {
    REQUIRE(Parse({std::string("--count=") + bad}) ==
            Words{std::string("(--count: '") + bad + "' is not a whole number from 1 to 10)"});
  }
  for (const char* bad : {"0s", "-1s", "5", "", "inf s"}) {
    REQUIRE(Parse({"--timeout", bad})[0].find("is not a positive time") != std::string::npos);
  }
}

TEST_CASE("a number goes into whatever holds it") {
  int small = 7, untouched = 8;
  uint64_t large = 0;
  absl::optional<int> given, missing;
  Flags flags;
  flags.Int("small", "", 0, 10, &small);
  flags.Int("untouched", "", 0, 10, &untouched);
  flags.Int("large", "", 0, INT64_MAX, &large);
  flags.Int("given", "", 0, 10, &given);
  flags.Int("missing", "", 0, 10, &missing);
  REQUIRE(flags.Parse({"--small", "3", "--large", "9223372036854775807", "--given=0"}).ok());
  REQUIRE(small == 3);
  REQUIRE(untouched == 8);
  REQUIRE(large == INT64_MAX);
  REQUIRE(given == 0);
  REQUIRE_FALSE(missing.has_value());
}

TEST_CASE("the help is aligned") {
  Targets targets;
  Flags flags;
  Define(&targets, &flags);
  REQUIRE(flags.Help() ==
          "  --name NAME     of the thing\n"
          "  --file FILE     to read; repeatable\n"
          "  --count N       how many\n"
          "  --timeout TIME  how long\n"
          "  --json          print JSON\n");
}

}  // namespace
}  // namespace sightline
