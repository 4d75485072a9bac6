#include "services/reranker/rerank_host.h"

#include <string>

#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

// A host over a store of its own, and what its loads read.
struct Rig {
  explicit Rig(int items) : tiny(MakeTinyStore(dir.path(), items)) {}

  ReadProgress::Bytes Load(bool verified) {
    const auto manifest = ReadGenerationManifest(dir.path(), kTinyImages, kTinyGeneration);
    REQUIRE(manifest.ok());
    ModelOptions options;
    options.pool = tiny.pool.get();
    ModelCache models({dir.path(), options});
    RerankHost host({dir.path(), state.path()}, &models, &janitor);
    ReadProgress::Files files;
    features = 0;
    for (const std::string& path : host.Files(*manifest)) {
      files[path] = *FileSize(path);
      if (path.find(".features") != std::string::npos) features += files[path];
    }
    ReadProgress progress(files);
    const ReadProgress::Scope scope(&progress);
    at_features = {};
    const FailingReads watched({".features", kHanging, 0, [&] {
                                  if (at_features.all == 0) at_features = progress.bytes();
                                }});
    REQUIRE(host.Load(*manifest, verified, kCall).ok());
    return progress.bytes();
  }

  TempDir dir, state;
  const TinyStore tiny;
  Janitor janitor;
  int64_t features = 0;             // bytes of their files
  ReadProgress::Bytes at_features;  // when the first of these were about to be read
};

TEST_CASE("a load that compares the features reads them, and at its end nothing is left") {
  Rig rig(30);
  const ReadProgress::Bytes whole = rig.Load(/*verified=*/false);
  CHECK(whole.done == whole.all);
  CHECK(whole.done > rig.features);  // the model's beside them, less what lies between sections
  CHECK(rig.at_features.all > rig.features);

  // Of what was compared before, only where items lie is read.
  for (const bool verified : {true, false}) {
    CAPTURE(verified);
    const ReadProgress::Bytes index = rig.Load(verified);
    CHECK(index.done == index.all);
    CHECK(index.done > 0);
    CHECK(index.done < whole.done - rig.features / 2);
    CHECK(rig.at_features.all - rig.at_features.done < rig.features / 2);
  }
}

}  // namespace
}  // namespace sightline
