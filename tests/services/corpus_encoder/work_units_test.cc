#include "services/corpus_encoder/work_units.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::vector<ScannedPicture> Pictures(int count) {
  std::vector<ScannedPicture> pictures;
  for (int i = 0; i < count; ++i) {
    ScannedPicture picture;
    picture.item.item_id = absl::StrCat("p/", 100000 + i);
    picture.item.captions = {{"en", "one"}, {"de", "eins"}, {"en", "two"}};
    picture.sha256 = absl::StrCat("sha of ", i);
    pictures.push_back(picture);
  }
  return pictures;
}

UnitContext Context() {
  UnitContext context;
  context.encoder = "m";
  return context;
}

std::vector<WorkUnit> CutIntoUnits(const std::vector<ScannedPicture>& pictures, int unit_size,
                                   const UnitContext& context) {
  UnitCutter cutter(unit_size, context);
  std::vector<WorkUnit> units;
  for (const ScannedPicture& picture : pictures) {
    absl::optional<WorkUnit> unit = cutter.Add(picture);
    if (unit.has_value()) units.push_back(*std::move(unit));
  }
  absl::optional<WorkUnit> last = cutter.Finish();
  if (last.has_value()) units.push_back(*std::move(last));
  return units;
}

std::set<std::string> Hashes(const std::vector<ScannedPicture>& pictures,
                             const UnitContext& context = Context()) {
  std::set<std::string> hashes;
  for (const WorkUnit& unit : CutIntoUnits(pictures, 16, context)) hashes.insert(unit.hash);
  return hashes;
}

int CountMissing(const std::set<std::string>& of, const std::set<std::string>& in) {
  return static_cast<int>(std::count_if(
      of.begin(), of.end(), [&](const std::string& hash) { return in.count(hash) == 0; }));
}

TEST_CASE("units cover the corpus in order, about as large as asked and never twice that") {
  const std::vector<ScannedPicture> pictures = Pictures(5000);
  const std::vector<WorkUnit> units = CutIntoUnits(pictures, 16, Context());
  size_t next = 0;
  for (const WorkUnit& unit : units) {
    REQUIRE(!unit.pictures.empty());
    REQUIRE(unit.pictures.size() <= 32);
    for (const ScannedPicture& picture : unit.pictures) {
      REQUIRE(picture.item.item_id == pictures[next++].item.item_id);
    }
  }
  REQUIRE(next == pictures.size());
  const double mean = 5000.0 / static_cast<double>(units.size());
  REQUIRE(mean > 10);
  REQUIRE(mean < 18);
  REQUIRE(CutIntoUnits({}, 16, Context()).empty());
  REQUIRE(CutIntoUnits(pictures, 1, Context()).size() == 5000);
}

TEST_CASE("an item that comes or goes changes a unit or two, not all that follow") {
  const std::vector<ScannedPicture> pictures = Pictures(2000);
  const std::set<std::string> before = Hashes(pictures);
  std::vector<ScannedPicture> fewer = pictures;
  fewer.erase(fewer.begin() + 3);
  const std::set<std::string> after = Hashes(fewer);
  // A forced end at the greatest size may shift the next few.
  REQUIRE(CountMissing(after, before) >= 1);
  REQUIRE(CountMissing(after, before) <= 8);
}

TEST_CASE("all that a result depends on is in the hash, and nothing else") {
  const std::vector<ScannedPicture> pictures = Pictures(10);
  const std::set<std::string> original = Hashes(pictures);
  REQUIRE(Hashes(Pictures(10)) == original);

  const auto changed = [&](const std::function<void(ScannedPicture&)>& change) {
    std::vector<ScannedPicture> copy = pictures;
    change(copy[5]);
    return Hashes(copy) != original;
  };
  REQUIRE(changed([](ScannedPicture& p) { p.sha256 = "other"; }));
  REQUIRE(changed([](ScannedPicture& p) { p.item.captions[0].text = "other"; }));
  REQUIRE(changed([](ScannedPicture& p) { p.item.captions.pop_back(); }));
  REQUIRE(!changed([](ScannedPicture& p) { p.item.captions[1].text = "zwei"; }));
  REQUIRE(!changed([](ScannedPicture& p) { p.item.path = "/elsewhere"; }));
  REQUIRE(!changed([](ScannedPicture& p) { p.item.tags = {"x"}; }));

  const auto with = [&](const std::function<void(UnitContext&)>& change) {
    UnitContext context = Context();
    change(context);
    return Hashes(pictures, context) != original;
  };
  REQUIRE(with([](UnitContext& c) { c.encoder = "n"; }));
  REQUIRE(with([](UnitContext& c) { c.rerankers = {{"a", "n"}}; }));
  const auto hashes_by = [&](std::vector<NamedReranker> rerankers) {
    UnitContext context = Context();
    context.rerankers = std::move(rerankers);
    return Hashes(pictures, context);
  };
  REQUIRE(hashes_by({{"a", "n"}, {"b", "m"}}) != hashes_by({{"a", "n"}}));
  REQUIRE(hashes_by({{"a", "n"}, {"b", "m"}}) != hashes_by({{"a", "m"}, {"b", "n"}}));
  REQUIRE(hashes_by({{"a", "n"}}) == hashes_by({{"b", "n"}}));  // features have no name
  REQUIRE(with([](UnitContext& c) { c.feature_dtype = Dtype::kInt8; }));
  REQUIRE(with([](UnitContext& c) { c.feature_dtype = Dtype::kFloat32; }));
  REQUIRE(with([](UnitContext& c) { c.deterministic = true; }));
  REQUIRE(with([](UnitContext& c) { c.limits.max_pixels = 7; }));
  REQUIRE(with([](UnitContext& c) { c.max_decode_time = absl::Seconds(7); }));
  REQUIRE(with([](UnitContext& c) { c.caption_language = "de"; }));
}

TEST_CASE("a unit comes back from disk as it was") {
  const TempDir dir;
  const ItemCodec codec;
  auto spool = UnitSpool::Create(dir.path(), codec);
  REQUIRE(spool.ok());
  std::vector<ScannedPicture> pictures = Pictures(40);
  pictures[3].item.tags = {"a", ""};
  pictures[3].item.ocr_tokens = {"STOP"};
  pictures[3].item.path = "/p\xff";
  const std::vector<WorkUnit> units = CutIntoUnits(pictures, 16, Context());
  for (const WorkUnit& unit : units) REQUIRE(spool->Add(unit).ok());
  REQUIRE(spool->Finish().ok());
  UnitSpool::Reader reader(*spool);
  WorkUnit unit;
  size_t next = 0;
  for (const WorkUnit& expected : units) {
    REQUIRE(*reader.Next(&unit));
    REQUIRE(unit.hash == expected.hash);
    for (const ScannedPicture& picture : unit.pictures) {
      const CorpusItem& item = pictures[next].item;
      REQUIRE(picture.item.item_id == item.item_id);
      REQUIRE(picture.item.path == item.path);
      REQUIRE(picture.item.tags == item.tags);
      REQUIRE(picture.item.ocr_tokens == item.ocr_tokens);
      REQUIRE(picture.item.captions.size() == item.captions.size());
      REQUIRE(picture.item.captions[1].language == "de");
      REQUIRE(picture.item.captions[2].text == "two");
      REQUIRE(picture.sha256 == pictures[next++].sha256);
    }
  }
  REQUIRE(!*reader.Next(&unit));
}

TEST_CASE("captions of one language are counted from one") {
  const std::vector<ScannedPicture> pictures = Pictures(1);
  const std::vector<CaptionItem> captions = CaptionItemsOf(pictures[0].item, "en");
  REQUIRE(captions.size() == 2);
  REQUIRE(captions[0].item_id == "p/100000#en-1");
  REQUIRE(captions[1].item_id == "p/100000#en-2");
  REQUIRE(captions[1].text == "two");
}

}  // namespace
}  // namespace sightline
