#include "services/corpus_encoder/base_generation.h"

#include <cerrno>

#include "common/bundle/rerankers.h"
#include "tests/services/corpus_encoder/tally_notes.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// A generation of two shards, opened as a base.
struct Fixture {
  Fixture() {
    corpus.AddMany(40);
    TestDecoders decoders;
    const auto summary = RunTestJob(TestJobOptions(store.path()), corpus, decoders.pool());
    REQUIRE(summary.ok());
    BaseRequirements required;
    required.item_kind = bundle::v1::IMAGE;
    required.embedding = FakeModel::Embedding();
    required.encoder_model = std::string(64, 'a');
    required.rerankers = {{kDefaultReranker, required.encoder_model}};
    auto opened = BaseIndex::Open(store.path(), "images", summary->generation, required);
    INFO(opened.status());
    REQUIRE(opened.ok());
    base = *std::move(opened);
  }

  TempDir store;
  FakeCorpus corpus;
  std::unique_ptr<BaseIndex> base;
};

TEST_CASE_METHOD(Fixture, "an item that cannot be looked up is an error, not a new item") {
  const std::string hash(32, 'h');
  REQUIRE(!base->Find("p/7", hash)->has_value());
  REQUIRE(!base->Find("not there", hash)->has_value());
  {
    const FailingReads failing({".vectors", EIO});
    const absl::Status status = base->Find("p/7", hash).status();
    REQUIRE(absl::IsUnavailable(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(".vectors") &&
                                                    Catch::Contains(base->generation()) &&
                                                    Catch::Contains("run the same command again"));
    // What is not in the base needs no reading.
    REQUIRE(!base->Find("not there", hash)->has_value());
  }
  REQUIRE(!base->Find("p/7", hash)->has_value());
}

TEST_CASE_METHOD(Fixture, "a verification is seen by those who wait, file by file") {
  const WorkFolder folder(store.path());
  WorkTally tally(folder, {0, 2});
  REQUIRE(base->Verify(store.path(), tally, CallContext::Unbounded()).ok());
  REQUIRE(NotesOf(folder, 0) == 4);
}

}  // namespace
}  // namespace sightline
