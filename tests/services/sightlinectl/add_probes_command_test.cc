#include "services/sightlinectl/add_probes_command.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_probes.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;
using bundle::v1::ProbeItem;

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunAddProbes, args);
}

// Captions begin anew after 105, so that ten items share theirs.
constexpr int kItems = 110;

// A store of so many pictures and a model that is encoder and reranker.
struct Place {
  TempDir dir;
  TinyStore store = MakeTinyStore(dir.path(), kItems);

  Ran Add(std::vector<std::string> flags, const std::string& index = kTinyImages) const {
    std::vector<std::string> args = {"--store", store.path, "--index",
                                     index,     "--model",  store.model->id()};
    args.insert(args.end(), flags.begin(), flags.end());
    return Run(args);
  }
  ModelBundle Bundle(const Ran& ran) const {
    INFO(ran.err);
    REQUIRE(ran.status == kSuccess);
    REQUIRE(absl::EndsWith(ran.out, "\n"));
    const auto bundle =
        OpenModelBundle(ModelDirectory(store.path, ran.out.substr(0, ran.out.size() - 1)), true);
    REQUIRE(bundle.ok());
    return *bundle;
  }
  // The picture that an item of probes is of.
  const TinyItem& ItemOf(const ProbeItem& item) const {
    const auto is_it = [&](const TinyItem& stored) {
      ProbeItem expected;
      SetFeatures(stored.image_features, &expected);
      for (const float number : stored.image_embedding.values()) expected.add_embedding(number);
      return google::protobuf::util::MessageDifferencer::Equals(item, expected);
    };
    const auto found = std::find_if(store.items.begin(), store.items.end(), is_it);
    REQUIRE(found != store.items.end());
    return *found;
  }
};

TEST_CASE("texts and items of a store become probes of a model that is otherwise the same") {
  const Place place;
  const std::string questions = place.dir.File("questions.jsonl");
  REQUIRE(WriteFileAtomically(
              questions,
              "{\"query\":\"a red fish\",\"expect\":[\"pictures/007\",\"pictures/050\"]}\n"
              "{\"query\":\"not here\",\"expect\":[\"nowhere\"]}\n"
              "{\"query\":\"a tree\",\"expect\":[\"pictures/033\",\"nowhere\"]}\n")
              .ok());
  const Ran ran = place.Add({"--questions", questions, "--items", "25"});
  const ModelBundle bundle = place.Bundle(ran);
  REQUIRE(absl::StrContains(ran.err, "2 texts, 2 of which mean known items, and 25 items"));
  REQUIRE(absl::StrContains(ran.err, "encode with the new id"));
  REQUIRE(bundle.id != place.store.model->id());
  REQUIRE(bundle.manifest.embedding().space() == place.store.model->space());

  const ModelProbes probes = *ReadModelProbes(bundle);
  REQUIRE(probes.texts_size() == 2);
  REQUIRE(probes.texts(0).text() == "a red fish");
  REQUIRE(probes.texts(1).text() == "a tree");
  REQUIRE(probes.items_size() == 25);
  std::vector<std::string> ids;
  for (const ProbeItem& item : probes.items()) ids.push_back(place.ItemOf(item).image_id);
  REQUIRE(std::is_sorted(ids.begin(), ids.end()));
  REQUIRE(std::set<std::string>(ids.begin(), ids.end()).size() == 25);
  REQUIRE(probes.texts(0).relevant_items_size() == 2);
  REQUIRE(ids[probes.texts(0).relevant_items(0)] == "pictures/007");
  REQUIRE(ids[probes.texts(0).relevant_items(1)] == "pictures/050");
  REQUIRE(probes.texts(1).relevant_items_size() == 1);
  REQUIRE(ids[probes.texts(1).relevant_items(0)] == "pictures/033");

  // Equal stores give equal bundles.
  REQUIRE(place.Add({"--questions", questions, "--items", "25"}).out == ran.out);
}

TEST_CASE("without questions captions are texts, which mean all items that have them") {
  const Place place;
  const ModelBundle bundle = place.Bundle(place.Add({"--items", "110", "--texts", "55"}));
  const ModelProbes probes = *ReadModelProbes(bundle);
  REQUIRE(probes.items_size() == 110);
  REQUIRE(probes.texts_size() > 50);  // those alike are one
  int shared = 0;
  for (const auto& text : probes.texts()) {
    std::vector<int> expected;
    for (int i = 0; i < probes.items_size(); ++i) {
      if (place.ItemOf(probes.items(i)).caption == text.text()) expected.push_back(i);
    }
    REQUIRE_FALSE(expected.empty());
    shared += expected.size() > 1 ? 1 : 0;
    REQUIRE(std::vector<int>(text.relevant_items().begin(), text.relevant_items().end()) ==
            expected);
  }
  REQUIRE(shared > 0);
  // As many as there are, where more are asked for.
  REQUIRE(ReadModelProbes(place.Bundle(place.Add({"--items", "1000"})))->items_size() == kItems);
}

TEST_CASE("probes are replaced only when that is asked for") {
  const Place place;
  const ModelBundle bundle = place.Bundle(place.Add({}));
  const std::vector<std::string> again = {"--store",   place.store.path, "--index",
                                          kTinyImages, "--model",        bundle.id};
  const Ran refused = Run(again);
  REQUIRE(refused.status == kFailure);
  REQUIRE(absl::StrContains(refused.err, "has probes already; --replace"));
}

TEST_CASE("what cannot become probes is told, and nothing is written") {
  const Place place;
  const auto refuses = [&](const Ran& ran, const std::string& why) {
    INFO(ran.err);
    REQUIRE(ran.status == kFailure);
    REQUIRE(ran.out.empty());
    REQUIRE(absl::StrContains(ran.err, why));
  };
  refuses(place.Add({}, kTinyCaptions), "holds captions; name an index of pictures");
  refuses(place.Add({}, "nope"), "nope");
  refuses(place.Add({"--questions", place.dir.File("none")}), "none");
  const std::string questions = place.dir.File("questions.jsonl");
  REQUIRE(WriteFileAtomically(questions, "{\"query\":\"x\",\"expect\":[\"nowhere\"]}\n").ok());
  refuses(place.Add({"--questions", questions}), "those that expect items of the index are 0");
  REQUIRE(WriteFileAtomically(questions, "{}\n").ok());
  refuses(place.Add({"--questions", questions}), "questions.jsonl: line 1");

  const TinyStore other = WithOtherModel(place.store);
  const std::vector<std::string> strange = {"--store",   place.store.path, "--index",
                                            kTinyImages, "--model",        other.model->id()};
  refuses(Run(strange), "has embeddings of another space");
  REQUIRE(ListDirectory(place.dir.File("models"))->size() == 2);

  const TempDir dir;
  const TinyStore small = MakeTinyStore(dir.path(), 19);
  refuses(Run({"--store", small.path, "--index", kTinyImages, "--model", small.model->id()}),
          "the index holds 19 items; probes need at least 20");
}

TEST_CASE("a command that is not whole does nothing") {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {},
           {"--store", "s", "--model", "m"},
           {"--store", "s", "--index", "i"},
           {"--model", "m", "--index", "i"},
           {"--store", "s", "--model", "m", "--index", "i", "word"},
           {"--store", "s", "--model", "m", "--index", "i", "--items", "19"},
           {"--store", "s", "--model", "m", "--index", "i", "--texts", "257"}}) {
    REQUIRE(Run(args).status == kUsageError);
  }
}

}  // namespace
}  // namespace sightline
