#include "common/models/model_cache.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/metrics/metrics.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using Catch::Contains;

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
    if (verify) CHECK(first.bytes().done == FileBytes(cache.Loaded().at(id).manifest));
    CHECK(first.bytes().done == first.bytes().all);
    const ReadProgress::Scope scope(&again);
    REQUIRE(*cache.Get(id) == model);
    CHECK(again.bytes().done == 0);
    CHECK(again.bytes().all == 0);
  }
}

TEST_CASE("a model computes in the precision that is chosen for it, and says so while it lives") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  MetricsRegistry metrics;
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 0};
  options.metrics = &metrics;
  ModelCache cache(options);
  auto model = cache.Get(id);
  REQUIRE(model.status() == absl::OkStatus());
  const LoadedModel loaded = cache.Loaded().at(id);
  CHECK(loaded.precision == "int8");
  const std::string line = absl::StrCat("sightline_model_agreement{model=\"", id.substr(0, 12),
                                        "\",precision=\"int8\"} ");
  const std::string page = metrics.Render();
  REQUIRE_THAT(page, Contains(line));
  double shown = -1;
  REQUIRE(absl::SimpleAtod(page.substr(page.find(line) + line.size(), 5), &shown));
  CHECK(shown == Approx(loaded.agreement).margin(1e-3));

  model = absl::UnknownError("let go");
  CHECK_THAT(metrics.Render(), Contains(line + "0\n"));
}

TEST_CASE("a precision that agrees too little is no model") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 1.01};
  ModelCache cache(options);
  CHECK(HasReason(cache.Get(store.model->id()).status(), reasons::kPrecisionTooFar));
  CHECK(cache.Loaded().empty());
}

TEST_CASE("a cross-encoder that prepares features alone is measured by nobody") {
  TempDir dir, state;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 0};
  options.precision.state_dir = state.path();
  ModelCache cache(options);
  const auto preparing = cache.GetPreparing(id);
  REQUIRE(preparing.status() == absl::OkStatus());
  CHECK(cache.Loaded().at(id).precision.empty());
  CHECK(!FileExists(JoinPath(state.path(), "precision")));
  // Who computes with it needs another one, which then prepares features too.
  const auto computing = cache.GetCrossEncoder(id);
  REQUIRE(computing.status() == absl::OkStatus());
  CHECK(*computing != *preparing);
  CHECK(cache.Loaded().at(id).precision == "int8");
  CHECK(*cache.GetPreparing(id) == *computing);
}

}  // namespace
}  // namespace sightline
