#include "services/trainer/picture_squarer.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/trainer/square_picture.h"
#include "tests/common/image/encode.h"
#include "tests/services/trainer/memory_corpus.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kSide = 16;

class Fixture {
 public:
  absl::StatusOr<std::vector<SquaredPicture>> Run(const CallContext& call) {
    const auto listing = corpus.List();
    REQUIRE(listing.ok());
    std::vector<ListedPicture> pictures;
    for (const CorpusItem& item : listing->items) pictures.push_back({&corpus, item});
    SquaringOptions options;
    options.threads = 3;
    options.image_size = kSide;
    options.limits.max_pixels = 100 * 100;
    options.max_decode_bytes = max_decode_bytes;
    Progress::Options silent;
    silent.terminal = true;
    Progress progress(silent, Clock::Real());
    return SquarePictures(
        pictures, options,
        [this](int64_t index, absl::string_view bytes) {
          if (!store_error.ok()) return store_error;
          stored[index] = std::string(bytes);
          return absl::OkStatus();
        },
        call, &progress);
  }
  absl::StatusOr<std::vector<SquaredPicture>> Run() { return Run(CallContext::Unbounded()); }

  MemoryCorpus corpus;
  std::map<int64_t, std::string> stored;
  absl::Status store_error;
  int64_t max_decode_bytes = int64_t{1} << 30;
};

TEST_CASE_METHOD(Fixture, "each picture is stored at its place, squared, with its fingerprint") {
  for (int i = 0; i < 20; ++i) {
    corpus.Add(absl::StrCat("p", 10 + i), EncodePng(Gradient(5 + i, 30 - i)));
  }
  const auto squared = Run();
  REQUIRE(squared.ok());
  REQUIRE(squared->size() == 20);
  REQUIRE(stored.size() == 20);
  for (int i = 0; i < 20; ++i) {
    const Pixels pixels = Gradient(5 + i, 30 - i);
    REQUIRE((*squared)[i].problem.empty());
    REQUIRE((*squared)[i].fingerprint.difference_hash == FingerprintOf(pixels).difference_hash);
    REQUIRE((*squared)[i].fingerprint.mean_color == FingerprintOf(pixels).mean_color);
    REQUIRE(stored[i] == *SquareBytes(pixels, kSide));
  }
}

TEST_CASE_METHOD(Fixture, "a budget that no picture fits into decodes one at a time") {
  max_decode_bytes = 1;
  for (int i = 0; i < 12; ++i) corpus.Add(absl::StrCat("p", i), EncodePng(Gradient(9, 9)));
  REQUIRE(Run().ok());
  REQUIRE(stored.size() == 12);
}

TEST_CASE_METHOD(Fixture, "bad pictures are problems of their own, with reasons") {
  const std::string good = EncodePng(Gradient(20, 20));
  corpus.Add("a", good);
  corpus.Add("b", "no picture");
  corpus.Add("c", good.substr(0, good.size() / 2));
  corpus.Add("d", EncodePng(Gradient(200, 200)));  // over the limit
  corpus.Add("e", good);
  corpus.Fail("e", absl::PermissionDeniedError("may not be read"));
  corpus.Add("f", good);
  const auto squared = Run();
  REQUIRE(squared.ok());
  REQUIRE((*squared)[0].problem.empty());
  REQUIRE((*squared)[5].problem.empty());
  REQUIRE(absl::StrContains((*squared)[3].problem, "200 x 200"));
  REQUIRE((*squared)[4].problem == "may not be read");
  for (int i = 1; i < 5; ++i) REQUIRE_FALSE((*squared)[i].problem.empty());
  REQUIRE(stored.size() == 2);
}

TEST_CASE_METHOD(Fixture, "trouble of the machine ends the job") {
  corpus.Add("a", EncodePng(Gradient(20, 20)));
  SECTION("when reading") {
    corpus.Fail("a", absl::UnavailableError("disk gone"));
    REQUIRE(Run().status() == absl::UnavailableError("disk gone"));
  }
  SECTION("when storing") {
    store_error = absl::ResourceExhaustedError("disk full");
    REQUIRE(Run().status() == store_error);
  }
}

TEST_CASE_METHOD(Fixture, "a cancelled call stops between pictures") {
  for (int i = 0; i < 100; ++i) corpus.Add(absl::StrCat("p", i), EncodePng(Gradient(9, 9)));
  const CallContext call = CallContext::Unbounded();
  std::atomic<int> reads{0};
  corpus.OnRead([&] {
    if (++reads == 5) call.cancellation()->Cancel();
  });
  REQUIRE(absl::IsCancelled(Run(call).status()));
  REQUIRE(reads < 10);
}

}  // namespace
}  // namespace sightline
