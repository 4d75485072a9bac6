#include "services/trainer/extract_job.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/dataset/region_file.h"
#include "tests/common/image/encode.h"
#include "tests/services/trainer/memory_corpus.h"
#include "tests/support/catch.h"
#include "tests/support/fake_model.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string Picture(int word) {
  return EncodePng(PictureOf(word, /*width=*/8, /*height=*/6));
}

// Word 100 + i is what picture i shows.
std::unique_ptr<MemoryCorpus> Pictures(int count, int first = 0) {
  auto corpus = std::make_unique<MemoryCorpus>();
  for (int i = first; i < first + count; ++i) {
    corpus->Add(absl::StrCat("p", 10 + i), Picture(100 + i),
                {{"en", absl::StrCat("caption ", i)}, {"de", "Bild"}},
                i % 2 == 0 ? absl::optional<Split>(Split::kHeldOut) : absl::nullopt);
  }
  return corpus;
}

class Fixture {
 public:
  explicit Fixture(std::unique_ptr<CorpusReader> corpus, FakeServingModelOptions options = {})
      : model(std::move(options)) {
    job.corpora.push_back(std::move(corpus));
    job.model = &model;
    job.out = dir.File("set.regions");
    job.part_size = 3;
    job.threads = 2;
  }

  absl::StatusOr<ExtractSummary> Run() {
    Progress::Options quiet;
    quiet.terminal = true;
    quiet.write = [](absl::string_view) {};
    Progress progress(quiet, Clock::Real());
    return ExtractRegions(job, &progress, CallContext::Unbounded());
  }
  std::string Skipped() const { return *ReadFile(absl::StrCat(job.out, kSkippedSuffix)); }

  TempDir dir;
  FakeServingModel model;
  ExtractJob job;
};

// What the picture of an item shows.
int WordOf(const RegionSet& regions) {
  REQUIRE(regions.count == 1);
  REQUIRE(regions.feature_size == 3);
  for (int word = 0; word < 1000; ++word) {
    if (ImageOf({word}).regions.features == regions.features) return word;
  }
  return -1;
}

TEST_CASE("each picture's regions are written, with what its corpus says of it") {
  Fixture fixture(Pictures(8));
  const auto summary = fixture.Run();
  INFO(summary.status().ToString());
  REQUIRE(summary.ok());
  REQUIRE(summary->written == 8);
  REQUIRE(summary->skipped == 0);
  REQUIRE(fixture.Skipped().empty());
  REQUIRE(!FileExists(fixture.job.out + ".parts"));
  const auto file = RegionFile::Open(fixture.job.out);
  REQUIRE(file.ok());
  REQUIRE((*file)->item_count() == 8);
  for (int i = 0; i < 8; ++i) {
    const ItemLine line = *(*file)->Item(i);
    REQUIRE(line.id == absl::StrCat("p", 10 + i));
    REQUIRE(line.captions.size() == 2);
    REQUIRE(line.captions[0].text == absl::StrCat("caption ", i));
    REQUIRE(line.captions[1].language == "de");
    REQUIRE(line.split.has_value() == (i % 2 == 0));
    REQUIRE(WordOf(*(*file)->Regions(i, 1 << 20)) == 100 + i);
  }
}

TEST_CASE("what an extractor thinks of each region's class is written beside it") {
  FakeServingModelOptions options;
  options.classes = 4;
  Fixture fixture(Pictures(8), options);
  REQUIRE(fixture.Run()->written == 8);
  const auto file = *RegionFile::Open(fixture.job.out);
  REQUIRE(file->soft_label_count() == 4);
  for (int i = 0; i < 8; ++i) {
    std::vector<float> sure(4);
    sure[i % 4] = 1;  // of word 100 + i
    REQUIRE(*file->SoftLabels(i, 1 << 20) == sure);
  }
  Fixture unknowing(Pictures(8));
  REQUIRE(unknowing.Run().ok());
  REQUIRE((*RegionFile::Open(unknowing.job.out))->soft_label_count() == 0);
}

TEST_CASE("parts and threads change nothing of the file") {
  Fixture one(Pictures(40)), other(Pictures(40));
  one.job.part_size = 1000;
  one.job.threads = 1;
  other.job.part_size = 7;
  other.job.threads = 3;
  REQUIRE(one.Run().ok());
  REQUIRE(other.Run().ok());
  REQUIRE(*ReadFile(one.job.out) == *ReadFile(other.job.out));
}

TEST_CASE("bad pictures are left out and listed; of nothing but bad ones there is no file") {
  auto corpus = Pictures(4);
  corpus->Add("p50", "no picture");
  for (int i = 0; i < 3; ++i) corpus->Add(absl::StrCat("q", i), Picture(1).substr(0, 40));
  Fixture fixture(std::move(corpus));
  const auto summary = fixture.Run();
  INFO(summary.status().ToString());
  REQUIRE(summary.ok());
  REQUIRE(summary->written == 4);
  REQUIRE(summary->skipped == 4);
  for (const char* id : {"\"p50\"", "\"q0\"", "\"q1\"", "\"q2\""}) {
    REQUIRE(absl::StrContains(fixture.Skipped(), id));
  }
  auto bad = std::make_unique<MemoryCorpus>();
  bad->Add("a", "no picture");
  Fixture none(std::move(bad));
  const absl::Status status = none.Run().status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "none of 1 pictures is good"));
  REQUIRE(absl::StrContains(none.Skipped(), "\"a\""));
  REQUIRE(!FileExists(none.job.out));
}

TEST_CASE("a job that was ended goes on with the first part that is not there") {
  auto corpus = Pictures(8);
  MemoryCorpus* const pictures = corpus.get();
  pictures->Fail("p17", absl::UnavailableError("the disk is away"));
  Fixture fixture(std::move(corpus));
  REQUIRE(absl::IsUnavailable(fixture.Run().status()));
  REQUIRE(!FileExists(fixture.job.out));
  const size_t before = fixture.model.extracted_widths().size();
  REQUIRE(before == 6);
  auto mended = Pictures(8);
  fixture.job.corpora[0] = std::move(mended);
  REQUIRE(fixture.Run()->written == 8);
  REQUIRE(fixture.model.extracted_widths().size() == before + 2);
}

TEST_CASE("what another job has left is not gone on with") {
  auto corpus = Pictures(8);
  corpus->Fail("p17", absl::UnavailableError("the disk is away"));
  Fixture fixture(std::move(corpus));
  REQUIRE(!fixture.Run().ok());
  // Another caption, in a part that was done.
  auto changed = Pictures(7, /*first=*/1);
  changed->Add("p10", Picture(100), {{"en", "other words"}});
  fixture.job.corpora[0] = std::move(changed);
  const size_t before = fixture.model.extracted_widths().size();
  REQUIRE(fixture.Run()->written == 8);
  REQUIRE(fixture.model.extracted_widths().size() == before + 8);
  REQUIRE((*RegionFile::Open(fixture.job.out))->Item(0)->captions[0].text == "other words");
}

TEST_CASE("what has no extractor, regions already, or one id twice is refused") {
  Fixture fixture(Pictures(2));
  fixture.job.corpora.push_back(Pictures(2, /*first=*/1));
  const absl::Status twice = fixture.Run().status();
  REQUIRE(absl::IsInvalidArgument(twice));
  REQUIRE(absl::StrContains(twice.message(), "two corpora have a picture p11"));
  FakeServingModelOptions options;
  options.pictures = false;
  const FakeServingModel blind(options);
  Fixture other(Pictures(2));
  other.job.model = &blind;
  const absl::Status none = other.Run().status();
  REQUIRE(absl::IsInvalidArgument(none));
  REQUIRE(absl::StrContains(none.message(), "finds no regions in pictures"));
}

TEST_CASE("an end that is asked for is one, and the same job goes on after it") {
  auto corpus = Pictures(8);
  const CallContext call = CallContext::Unbounded();
  int read = 0;
  corpus->OnRead([&] {
    if (++read == 5) call.cancellation()->Cancel();
  });
  Fixture fixture(std::move(corpus));
  fixture.job.threads = 1;
  Progress::Options quiet;
  quiet.terminal = true;
  quiet.write = [](absl::string_view) {};
  Progress progress(quiet, Clock::Real());
  REQUIRE(absl::IsCancelled(ExtractRegions(fixture.job, &progress, call).status()));
  REQUIRE(fixture.Run()->written == 8);
}

}  // namespace
}  // namespace sightline
