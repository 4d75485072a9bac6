#include "loadtest/synthesize/fit_command.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/compute_pool.h"
#include "loadtest/synthesize/stored_pairs.h"
#include "loadtest/synthesize/synthesize_command.h"
#include "loadtest/synthesize/vector_shape.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunSynthesize(args, {out, err}, /*terminal=*/false, CallContext::Unbounded());
  return {status, out.str(), err.str()};
}

TEST_CASE("pairs of a store are pictures and the captions about them, each once") {
  TempDir dir;
  const TinyStore tiny = MakeTinyStore(dir.path(), 30);
  ComputePool pool(1);
  const auto stored =
      ReadStoredPairs(dir.path(), kTinyImages, kTinyCaptions, &pool, CallContext::Unbounded());
  INFO(stored.status());
  REQUIRE(stored.ok());
  REQUIRE(stored->space.size() == 64);
  const PairedEmbeddings* const pairs = &stored->embeddings;
  REQUIRE(pairs->items.rows() >= 1);
  REQUIRE(pairs->items.rows() <= 30);
  REQUIRE(pairs->queries.rows() == static_cast<int64_t>(pairs->about.size()));
  const auto cosine = [](absl::Span<const float> a, absl::Span<const float> b) {
    double sum = 0;
    for (size_t k = 0; k < a.size(); ++k) sum += static_cast<double>(a[k]) * b[k];
    return sum;
  };
  for (int64_t i = 0; i < pairs->items.rows(); ++i) {
    for (int64_t j = 0; j < i; ++j) {
      REQUIRE(cosine(pairs->items.row(i), pairs->items.row(j)) < 0.99995);
    }
  }
  for (int64_t i = 0; i < pairs->queries.rows(); ++i) {
    // The item whose caption it is, or a copy of its picture.
    bool found = false;
    for (const TinyItem& item : tiny.items) {
      found = found ||
              (cosine(item.caption_embedding.row(0), pairs->queries.row(i)) > 0.9998 &&
               cosine(item.image_embedding.row(0), pairs->items.row(pairs->about[i])) > 0.9998);
    }
    REQUIRE(found);
  }
}

TEST_CASE("what cannot be fitted is told") {
  TempDir dir;
  REQUIRE(absl::StrContains(Run({"fit"}).err, "--store is missing"));
  REQUIRE(Run({"fit", "--store", dir.path(), "word"}).status == kUsageError);
  const Ran nothing = Run({"fit", "--store", dir.path()});
  REQUIRE(nothing.status != kSuccess);
  REQUIRE(nothing.out.empty());

  MakeTinyStore(dir.path(), 30);
  const Ran few = Run({"fit", "--store", dir.path()});
  REQUIRE(few.status == kFailure);
  REQUIRE(absl::StrContains(few.err, "200 of each are needed"));
}

TEST_CASE("the shape of a store is printed with what was measured") {
  TempDir dir;
  MakeTinyStore(dir.path(), 300);
  const Ran ran = Run({"fit", "--store", dir.path(), "--threads", "2"});
  if (ran.status == kFailure && absl::StrContains(ran.err, "are needed")) return;
  CAPTURE(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(ParseVectorShape(ran.out).ok());
  const auto json = nlohmann::json::parse(ran.out);
  for (const char* const part : {"measured", "drawn"}) {
    REQUIRE(json[part]["item_to_items_1_10_100"].size() == 3);
  }
}

}  // namespace
}  // namespace sightline
