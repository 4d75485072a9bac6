#include "services/corpus_encoder/corpus_listing.h"

#include "absl/strings/str_cat.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/scanned_pictures.h"
#include "tests/services/corpus_encoder/tally_notes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Lists corpora as worker 0 of two.
struct Fixture {
  absl::StatusOr<ListedCorpora> List(const std::vector<FakeCorpus>& corpora,
                                     const CallContext& call = CallContext::Unbounded()) {
    readers.clear();
    for (const FakeCorpus& corpus : corpora) {
      readers.push_back(std::make_unique<FakeCorpus>(corpus));
    }
    return ListCorpora(readers, dir.path(), tally, call);
  }

  const TempDir dir;
  const WorkFolder folder{dir.path()};
  WorkTally tally{folder, {0, 2}};
  std::vector<std::unique_ptr<CorpusReader>> readers;
};

TEST_CASE_METHOD(Fixture,
                 "items of all corpora come in the order of their ids, with their reader") {
  FakeCorpus first, second;
  for (const char* id : {"d", "a", "c"}) first.Add(id, "");
  for (const char* id : {"e", "b"}) second.Add(id, "");
  const auto listed = List({first, second});
  REQUIRE(listed.ok());
  std::string ids;
  for (const ScannedPicture& picture : AllOf(listed->pictures)) {
    ids += picture.item.item_id;
    const bool of_second = picture.item.item_id == "b" || picture.item.item_id == "e";
    REQUIRE(picture.reader == readers[of_second ? 1 : 0].get());
    REQUIRE(picture.item.tags == std::vector<std::string>{"tag of " + picture.item.item_id});
  }
  REQUIRE(ids == "abcde");
}

TEST_CASE_METHOD(Fixture, "an id that a corpus gives again is rejected, one of another an error") {
  FakeCorpus twice;
  twice.Add("a", "");
  twice.Add("a", "");
  twice.listing.items[1].path = "/elsewhere/a";
  auto listed = List({twice});
  REQUIRE(listed.ok());
  REQUIRE(AllOf(listed->pictures).size() == 1);
  REQUIRE(listed->rejected.size() == 1);
  REQUIRE(listed->rejected.examples()[0].path == "/elsewhere/a");

  FakeCorpus other;
  other.Add("a", "");
  other.listing.items[0].path = "/other/a";
  FakeCorpus once;
  once.Add("a", "");
  const absl::Status both = List({once, other}).status();
  REQUIRE(absl::IsInvalidArgument(both));
  REQUIRE_THAT(std::string(both.message()),
               Catch::Contains("/pictures/a") && Catch::Contains("/other/a"));
}

TEST_CASE_METHOD(Fixture, "what readers reject and warn of is there, and more may be added") {
  FakeCorpus corpus;
  corpus.Add("a", "");
  corpus.listing.rejected.push_back({"b", "/b", "bad name"});
  corpus.listing.warnings.push_back({"a", "/a", "no caption"});
  auto listed = List({corpus});
  REQUIRE(listed.ok());
  REQUIRE(listed->rejected.examples().at(0).reason == "bad name");
  REQUIRE(listed->warnings.Add({"a", "/a", "another"}).ok());
  REQUIRE(listed->warnings.Finish().ok());
  REQUIRE(listed->warnings.size() == 2);
  // All items may be rejected: the ledger then says why.
  corpus.listing.items.clear();
  REQUIRE(List({corpus})->pictures.size() == 0);
}

TEST_CASE_METHOD(Fixture, "no item, a reader that fails and a call that has ended are errors") {
  REQUIRE(absl::IsInvalidArgument(List({FakeCorpus(), FakeCorpus()}).status()));
  FakeCorpus failing;
  failing.list_error = absl::UnavailableError("read /corpus: Stale file handle");
  REQUIRE(List({failing}).status() == failing.list_error);
  FakeCorpus corpus;
  corpus.Add("a", "");
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(List({corpus}, call).status()));
}

TEST_CASE_METHOD(Fixture, "a long listing is seen by those who wait") {
  FakeCorpus corpus;
  for (int i = 0; i < 5000; ++i) corpus.Add(absl::StrCat(i), "");
  REQUIRE(List({corpus}).ok());
  REQUIRE(NotesOf(folder, 0) == 2);  // once listed and once sorted, of each some thousand
}

}  // namespace
}  // namespace sightline
