#include "services/corpus_encoder/corpus_division.h"

#include <set>
#include <thread>
#include <utility>

#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/job_hashes.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/tally_notes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kPictures = 10000;

UnitContext Context() {
  UnitContext context;
  context.encoder = std::string(64, 'a');
  context.caption_language = "en";
  return context;
}

// A corpus of many small pictures with two captions each, scanned by two workers.
struct Fixture {
  Fixture() {
    FakeCorpus corpus;
    for (int i = 0; i < kPictures; ++i) {
      corpus.Add(absl::StrCat("p/", i), absl::StrCat(i), {"one", "another"});
    }
    corpora = Corpora(corpus);
    absl::Status others;
    std::thread other([&] {
      WorkTally of_other(folder, {1, 2});
      others = Scan(1, of_other).status();
    });
    auto own_scan = Scan(0, tally);
    other.join();
    REQUIRE(others.ok());
    REQUIRE(own_scan.ok());
    scan.emplace(*std::move(own_scan));
  }

  absl::StatusOr<CorpusScan> Scan(int worker, WorkTally& of_worker) const {
    CorpusEncoderOptions options;
    options.share = {worker, 2};
    options.await.poll_period = absl::Milliseconds(1);
    Progress progress({}, Clock::Real());
    return ScanCorpora(corpora, folder, options, of_worker, CallContext::Unbounded(), &progress);
  }

  absl::StatusOr<CorpusDivision> Divide(int worker, const BaseGeneration& base) {
    const UnitContext context = Context();
    DivisionRules rules;
    rules.context = &context;
    rules.share = {worker, 2};
    return DivideCorpus(scan->pictures, ItemCodec(corpora), base, rules, folder, tally,
                        CallContext::Unbounded());
  }

  const TempDir dir;
  const WorkFolder folder{dir.path()};
  WorkTally tally{folder, {0, 2}};
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  absl::optional<CorpusScan> scan;
};

TEST_CASE_METHOD(Fixture, "without a base all is new, each picture in one unit of one worker") {
  const BaseGeneration none;
  int64_t owned = 0;
  for (const int worker : {0, 1}) {
    const auto division = Divide(worker, none);
    REQUIRE(division.ok());
    REQUIRE(division->carried.size() == 0);
    REQUIRE(division->caption_count == 2 * kPictures);
    REQUIRE(division->unit_hashes->size() == division->units.size());
    owned += division->own_picture_count;
    std::set<std::string> ids;
    UnitSpool::Reader reader(division->units);
    for (WorkUnit unit; *reader.Next(&unit);) {
      for (const ScannedPicture& picture : unit.pictures) ids.insert(picture.item.item_id);
    }
    REQUIRE(ids.size() == kPictures);
  }
  REQUIRE(owned == kPictures);
}

TEST_CASE_METHOD(Fixture, "every step over a large corpus is seen by those who wait") {
  // The stretches: when they are cut and when they are taken over; and the listing.
  int64_t before = NotesOf(folder, 0);
  REQUIRE(before >= 2 * scan->scans->size() + 2);
  const auto steps_on = [&] {
    const int64_t now = NotesOf(folder, 0);
    return std::exchange(before, now) < now;
  };
  REQUIRE(ContentHash(*scan, {}, "space", Context(), tally, CallContext::Unbounded()).ok());
  REQUIRE(steps_on());
  const BaseGeneration none;
  REQUIRE(!*CarriesAny(scan->pictures, none, Context(), tally, CallContext::Unbounded()));
  REQUIRE(steps_on());
  REQUIRE(Divide(0, none).ok());
  REQUIRE(steps_on());
}

}  // namespace
}  // namespace sightline
