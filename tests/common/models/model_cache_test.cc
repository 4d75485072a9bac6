#include "common/models/model_cache.h"

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

TEST_CASE("a model is loaded once, lives as long as it is held, and is the one asked for") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelOptions options;
  options.pool = store.pool.get();
  ModelCache cache({dir.path(), options});
  CHECK(cache.Loaded().empty());

  auto first = cache.Get(id);
  REQUIRE(first.status() == absl::OkStatus());
  REQUIRE((*first)->id() == id);
  REQUIRE(cache.Get(id)->get() == first->get());
  REQUIRE(cache.Loaded().size() == 1);
  CHECK(cache.Loaded().count(id) == 1);

  first = absl::UnknownError("let go");
  CHECK(cache.Loaded().empty());
  CHECK(cache.Get(id).ok());

  const std::string missing(64, '0');
  CHECK(absl::IsNotFound(cache.Get(missing).status()));
  // A bundle in another's folder is not taken for it.
  std::filesystem::copy(ModelDirectory(dir.path(), id), ModelDirectory(dir.path(), missing),
                        std::filesystem::copy_options::recursive);
  CHECK(absl::IsDataLoss(cache.Get(missing).status()));
}

TEST_CASE("who waits for a model knows when nothing of it is left to read, and what never was") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelOptions options;
  options.pool = store.pool.get();
  for (const bool verify : {true, false}) {
    CAPTURE(verify);
    ModelCache cache({dir.path(), options, {}, verify});
    ReadProgress::Files files;
    for (const std::string& path : cache.Files(id)) files[path] = *FileSize(path);
    ReadProgress first(files), again(files);
    std::shared_ptr<const Model> model;
    {
      const ReadProgress::Scope scope(&first);
      model = *cache.Get(id);
    }
    if (verify) CHECK(first.bytes().done == FileBytes(cache.Loaded().at(id)));
    CHECK(first.bytes().done == first.bytes().all);
    const ReadProgress::Scope scope(&again);
    REQUIRE(*cache.Get(id) == model);
    CHECK(again.bytes().done == 0);
    CHECK(again.bytes().all == 0);
  }
}

}  // namespace
}  // namespace sightline
