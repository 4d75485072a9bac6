// Commands on the generations of an index in an object store, and in which store they work.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "services/sightlinectl/small_command.h"
#include "tests/common/object_store/s3_test_server.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

constexpr char kUrl[] = "s3://bucket/some/folder";

Ran Run(const std::vector<std::string>& args) {
  return RanBy(
      [](const std::vector<std::string>& words, const Console& console) {
        return RunProgram(SmallSightlinectl(), words, console);
      },
      args);
}

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* const name_;
};

// An object store and a folder, with generations g1 and g2 of "images" in both, published.
class Stores {
 public:
  Stores()
      : server_([this] {
          S3TestServerOptions options;
          options.folder = dir_.File("objects");
          return options;
        }()),
        id_("AWS_ACCESS_KEY_ID", S3TestKeys().id),
        secret_("AWS_SECRET_ACCESS_KEY", S3TestKeys().secret),
        endpoint_("AWS_ENDPOINT_URL_S3", server_.endpoint()) {
    for (const char* name : {"g1", "g2"}) {
      MakeGeneration(folder(), name);
      REQUIRE(Run({"publish", "images", name, "--store", folder()}).status == 0);
      REQUIRE(Remote({"publish", "images", name, "--store", folder()}).status == 0);
    }
  }

  std::string folder() const { return dir_.File("store"); }
  std::string File(const std::string& name) const { return dir_.File(name); }
  S3TestServer& server() { return server_; }

  Ran Remote(std::vector<std::string> args) const {
    args.insert(args.end(), {"--object-store", kUrl});
    return Run(args);
  }
  Ran Local(std::vector<std::string> args) const {
    args.insert(args.end(), {"--store", folder()});
    return Run(args);
  }
  // What is current in each, by what `describe` says.
  std::string LocalCurrent() const { return Current(Local({"describe", "images"})); }
  std::string RemoteCurrent() const { return Current(Remote({"describe", "images"})); }

  // As if the store had changed a byte of it.
  std::string Damage(const std::string& part_of_key) {
    for (auto& [key, object] : server_.objects().All()) {
      if (!absl::StrContains(key, part_of_key)) continue;
      object.bytes.front() ^= 1;
      server_.objects().Put(key, object, /*only_new=*/false);
      return key;
    }
    FAIL("there is no " << part_of_key);
    return "";
  }

 private:
  static std::string Current(const Ran& described) {
    INFO(described.err);
    REQUIRE(described.status == 0);
    const std::string first = described.out.substr(0, described.out.find('\n'));
    return first.substr(first.find('/') + 1);
  }

  const TempDir dir_;
  S3TestServer server_;
  const Variable id_, secret_, endpoint_;
};

TEST_CASE("the environment's object store counts where the command line names no place") {
  Stores stores;
  const Variable variable("SIGHTLINE_OBJECT_STORE", kUrl);
  REQUIRE(stores.Local({"rollback", "images"}).status == 0);
  CHECK(stores.LocalCurrent() == "g1");
  CHECK(stores.RemoteCurrent() == "g2");
  CHECK(stores.Local({"publish", "images", "g2"}).out == "images is now g2 (sequence 4)\n");
  const Ran pruned = stores.Local({"prune", "images"});
  CHECK(pruned.out == "nothing to remove; kept g1, g2\n");  // and not twice
  REQUIRE(Run({"rollback", "images"}).status == 0);
  CHECK(stores.LocalCurrent() == "g2");
  CHECK(stores.RemoteCurrent() == "g1");
  CHECK_THAT(Run({"describe", "images"}).out, Contains("generation images/g1\n"));
  CHECK_THAT(Run({"verify", "images"}).out, Contains("images g1 is whole: 8 files, "));
  // It takes both.
  REQUIRE(Run({"fetch", "images", "--store", stores.File("fetched")}).status == 0);
  CHECK(FileExists(GenerationDirectory(stores.File("fetched"), "images", "g1")));
}

TEST_CASE("a prune of both places keeps in the folder what the object store has published") {
  Stores stores;
  // As a job's volume is: with generations, and no CURRENT.
  const std::string volume = stores.File("volume");
  for (const char* name : {"g3", "g4", "g5"}) {
    MakeGeneration(volume, name);
    REQUIRE(stores.Remote({"publish", "images", name, "--store", volume}).status == 0);
  }
  const std::vector<std::string> prune = {"prune",   "images", "--keep",  "2",
                                          "--grace", "1ns",    "--store", volume};
  for (int i = 0; i < 2; ++i) {
    const Ran pruned = stores.Remote(prune);
    INFO(pruned.err);
    CHECK(pruned.status == 0);
  }
  CHECK_FALSE(FileExists(GenerationDirectory(volume, "images", "g3")));
  CHECK(FileExists(GenerationDirectory(volume, "images", "g4")));
  CHECK(FileExists(GenerationDirectory(volume, "images", "g5")));

  // While the object store is away nobody knows what may go.
  const Variable nowhere("AWS_SECRET_ACCESS_KEY", "another");
  std::vector<std::string> all = prune;
  all[3] = "1";
  CHECK(stores.Remote(all).status == 1);
  CHECK(FileExists(GenerationDirectory(volume, "images", "g4")));
}

TEST_CASE("a fetch leaves a folder that was published in by itself, and says so") {
  Stores stores;
  REQUIRE(stores.Local({"rollback", "images"}).status == 0);
  const Ran fetched = stores.Remote({"fetch", "images", "--store", stores.folder()});
  CHECK(fetched.status == 1);
  CHECK_THAT(fetched.err, Contains("CURRENT is left: it tells of g1, a publication of its own, "
                                   "where the other store's is g2; use another folder"));
  CHECK(stores.LocalCurrent() == "g1");
}

TEST_CASE("a generation is fetched whatever is published, and what names it is no damage of it") {
  Stores stores;
  std::string newest;
  for (const auto& [key, object] : stores.server().objects().All()) {
    if (absl::StrContains(key, "/CURRENT/")) newest = key;
  }
  const std::vector<std::string> fetch = {"fetch", "images", "g1", "--store",
                                          stores.File("fetched")};
  TestObject object;
  REQUIRE(stores.server().objects().Get(newest, &object));
  object.bytes = "damaged";
  stores.server().objects().Put(newest, object, /*only_new=*/false);
  const Ran damaged = stores.Remote(fetch);
  CHECK(damaged.status == 1);
  CHECK_THAT(damaged.err, Contains("CURRENT/") && !Contains("--resend"));

  for (const auto& [key, ignored] : stores.server().objects().All()) {
    if (absl::StrContains(key, "/CURRENT/")) stores.server().objects().Remove(key);
  }
  const Ran fetched = stores.Remote(fetch);
  INFO(fetched.err);
  CHECK(fetched.status == 0);
  CHECK(FileExists(GenerationDirectory(stores.File("fetched"), "images", "g1")));
  CHECK_FALSE(FileExists(stores.File("fetched") + "/indexes/images/CURRENT"));
}

TEST_CASE("a command that works on one store is not given two, and none is none") {
  Stores stores;
  for (const char* command : {"rollback", "verify", "describe"}) {
    CAPTURE(command);
    const Ran both = stores.Remote({command, "images", "--store", stores.folder()});
    CHECK(both.status == 2);
    CHECK_THAT(both.err, Contains("one of --store DIR and --object-store URL"));
  }
  CHECK(Run({"rollback", "images"}).status == 2);
  CHECK(Run({"fetch", "images", "--store", stores.folder()}).status == 2);
  CHECK(stores.Remote({"fetch", "images"}).status == 2);
  CHECK(stores.LocalCurrent() == "g2");
  CHECK(stores.RemoteCurrent() == "g2");
}

TEST_CASE("an index is described in the same words wherever it lies") {
  Stores stores;
  REQUIRE(stores.Local({"rollback", "images"}).status == 0);
  REQUIRE(stores.Remote({"rollback", "images"}).status == 0);
  const Ran local = stores.Local({"describe", "images"});
  const Ran remote = stores.Remote({"describe", "images"});
  INFO(remote.err);
  CHECK_THAT(remote.out,
             Contains("         3  g1") && Contains("         2  g2") && Contains("rolled back"));
  // But for the moment at which it was left.
  const auto without_times = [](const std::string& text) {
    return text.substr(0, text.find("         2  g2"));
  };
  CHECK(without_times(remote.out) == without_times(local.out));
  CHECK(stores.Remote({"describe", "images/g2"}).out ==
        stores.Local({"describe", "images/g2"}).out);
  const std::string model = MakeModel(stores.folder(), "encoder");
  CHECK_THAT(stores.Remote({"describe", model}).out, Contains("model bundle " + model));
  CHECK(stores.Remote({"describe", "images", "--verify"}).status == 1);
}

TEST_CASE("a rollback that names what it goes back from is done once, however often it is run") {
  Stores stores;
  for (const bool remote : {false, true}) {
    CAPTURE(remote);
    const auto rollback = [&](const char* from) {
      const std::vector<std::string> args = {"rollback", "images", "--from", from};
      return remote ? stores.Remote(args) : stores.Local(args);
    };
    const Ran other = rollback("g1");
    CHECK(other.status == 1);
    CHECK_THAT(other.err, Contains("FAILED_PRECONDITION") && Contains("current is g2"));
    CHECK(rollback("g2").out == "images is now g1 (sequence 3)\n");
    const Ran again = rollback("g2");
    CHECK(again.status == 0);
    CHECK(again.out == "images is now g1 (sequence 3)\n");
    CHECK_THAT(again.err, Contains("g2 was rolled back already"));
    CHECK_THAT(rollback("g7").err, Contains("has no generation 'g7'") && Contains("it has g1, g2"));
  }
}

TEST_CASE("what was mistyped is named, with the store and what it has") {
  Stores stores;
  const std::string where = GENERATE(std::string(kUrl), std::string("folder"));
  const bool remote = where == kUrl;
  const auto run = [&](const std::vector<std::string>& args) {
    return remote ? stores.Remote(args) : stores.Local(args);
  };
  const auto place = Contains(remote ? where : stores.folder());
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"publish", "imges", "g1"},
                                             {"rollback", "imges"},
                                             {"describe", "imges"},
                                             {"describe", "imges/g1"},
                                             {"verify", "imges"}}) {
    CAPTURE(args, where);
    const Ran ran = run(args);
    CHECK(ran.status == 1);
    CHECK_THAT(ran.err, place && Contains("has no index 'imges' (it has images)"));
  }
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"publish", "images", "g9"}, {"describe", "images/g9"}, {"verify", "images", "g9"}}) {
    CAPTURE(args, where);
    const Ran ran = run(args);
    CHECK(ran.status == 1);
    CHECK_THAT(ran.err, place && Contains("has no generation 'g9'") && Contains("it has g1, g2"));
  }
  const Ran pruned = run({"prune", "imges"});
  CHECK(pruned.status == 0);
  CHECK_THAT(pruned.out, place && Contains("was never published") && Contains("(it has images)"));
  CHECK_THAT(run({"add-model", stores.File("modle")}).err,
             Contains("there is no " + stores.File("modle")));
  if (remote) {
    const Ran fetched = stores.Remote({"fetch", "imges", "--store", stores.File("fetched")});
    CHECK_THAT(fetched.err, place && Contains("has no index 'imges' (it has images)"));
    // Nothing of that name is to be mended, or brought there.
    const Ran named = stores.Remote({"fetch", "imges", "g1", "--store", stores.File("fetched")});
    CHECK(named.status == 1);
    CHECK_THAT(named.err, Contains("NOT_FOUND: ") && place &&
                              Contains("has no index 'imges' (it has images)") &&
                              !Contains("publish"));
    CHECK_THAT(stores.Remote({"publish", "images", "g9", "--store", stores.folder()}).err,
               Contains(stores.folder() + " has no generation g9") && Contains("it has g1, g2"));
  }
}

TEST_CASE("what the object store alone has is published as well") {
  Stores stores;
  const Ran ran = stores.Remote({"publish", "images", "g1", "--store", stores.File("empty")});
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(stores.RemoteCurrent() == "g1");
  // But not sent again.
  const Ran resent =
      stores.Remote({"publish", "images", "g1", "--store", stores.File("empty"), "--resend"});
  CHECK(resent.status == 1);
}

TEST_CASE("damage in the object store is found, and mended by what the message says") {
  for (const char* const object : {".vectors", "weights.safetensors", "g2/manifest.json"}) {
    Stores stores;
    CHECK(stores.Remote({"verify", "images"}).status == 0);
    const std::string key = stores.Damage(object);
    CAPTURE(key);
    const Ran damaged = stores.Remote({"verify", "images", "g2"});
    // The first of the keys is of g1, but for the models, which both have.
    if (absl::StrContains(key, "/g1/")) {
      CHECK(damaged.status == 0);
      CHECK(stores.Remote({"verify", "images", "g1"}).status == 1);
      stores.Damage("g2/shards/00000-of-00002.vectors");
    }
    for (const bool fetch : {false, true}) {
      std::vector<std::string> args = {fetch ? "fetch" : "verify", "images"};
      if (fetch) args.insert(args.end(), {"--store", stores.File("fetched")});
      const Ran ran = stores.Remote(args);
      CHECK(ran.status != 0);
      const std::string advice = "sightlinectl publish images g2 --store DIR --object-store " +
                                 std::string(kUrl) + " --resend";
      REQUIRE_THAT(ran.err, Contains(advice));
      std::vector<std::string> words = absl::StrSplit(
          absl::StrReplaceAll(advice, {{"sightlinectl ", ""}, {"DIR", stores.folder()}}), ' ');
      if (!fetch) continue;
      const Ran mended = Run(words);
      INFO(mended.err);
      CHECK(mended.status == 0);
    }
    CHECK(stores.Remote({"verify", "images"}).status == 0);
    CHECK(stores.Remote({"fetch", "images", "--store", stores.File("fetched")}).status == 0);
  }
}

}  // namespace
}  // namespace sightline
