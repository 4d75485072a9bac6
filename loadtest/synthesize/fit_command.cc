#include "loadtest/synthesize/fit_command.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "loadtest/synthesize/embedding_measures.h"
#include "loadtest/synthesize/shape_fit.h"
#include "loadtest/synthesize/stored_pairs.h"
#include "loadtest/synthesize/vector_shape.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr Command kFitCommand = {
    "fit", "synthesize fit --store DIR [--images NAME] [--captions NAME] [flags]",
    "Prints the shape of a store's embeddings, for --shape; and what was measured, of the store "
    "and "
    "of as many that are drawn by the shape.",
    nullptr};

double Rounded(double value) {
  return std::round(value * 10'000) / 10'000;
}

Json CosinesJson(const NeighborCosines& cosines) {
  return {Rounded(cosines.first), Rounded(cosines.tenth), Rounded(cosines.hundredth)};
}

// Of ranks 1, 2, 4, 8, ...
Json ByRank(const std::vector<double>& values) {
  Json some = Json::array();
  for (size_t rank = 1; rank <= values.size(); rank *= 2) some.push_back(Rounded(values[rank - 1]));
  return some;
}

Json MeasuresJson(const EmbeddingMeasures& measures) {
  return {{"items", measures.items},
          {"queries", measures.queries},
          {"dimension", measures.dimension},
          {"effective_dimension", Rounded(EffectiveDimension(measures.item_deviations))},
          {"item_deviations_at_1_2_4", ByRank(measures.item_deviations)},
          {"query_deviations_at_1_2_4", ByRank(measures.query_deviations)},
          {"correlations_at_1_2_4", ByRank(measures.correlations)},
          {"item_mean", Rounded(measures.item_mean)},
          {"query_mean", Rounded(measures.query_mean)},
          {"mean_cosine", Rounded(measures.mean_cosine)},
          {"query_to_its_item", Rounded(measures.own_cosine)},
          {"item_to_items_1_10_100", CosinesJson(measures.item_neighbors)},
          {"query_to_items_1_10_100", CosinesJson(measures.query_neighbors)}};
}

absl::StatusOr<std::string> Fit(const PairedEmbeddings& pairs, ComputePool* pool,
                                const CallContext& call) {
  ASSIGN_OR_RETURN(const EmbeddingMeasures measured, MeasureEmbeddings(pairs, pool, call));
  ASSIGN_OR_RETURN(const VectorShape shape, FitShape(measured, pool, call));
  ASSIGN_OR_RETURN(const EmbeddingMeasures drawn,
                   MeasureEmbeddings(DrawLike(measured, shape, pool), pool, call));
  const Json json = {{"shape", Json::parse(VectorShapeJson(shape))},
                     {"measured", MeasuresJson(measured)},
                     {"drawn", MeasuresJson(drawn)}};
  return absl::StrCat(json.dump(2), "\n");
}

}  // namespace

int RunFit(const std::vector<std::string>& args, const Console& console, const CallContext& call) {
  std::string store, images = "images", captions = "captions";
  int threads = UsableCores();
  Flags flags;
  flags.String("store", "DIR", "whose embeddings are measured", &store);
  flags.String("images", "NAME", "index of the items; default images", &images);
  flags.String("captions", "NAME", "index of the queries about them; default captions", &captions);
  flags.Int("threads", "core budget; default: the cores there are", 1, limits::kMaxThreads,
            &threads);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kFitCommand, &flags, args, console, &words, &status)) return status;
  if (!words.empty()) {
    return UsageError(kFitCommand, absl::StrCat("unknown argument '", words[0], "'"), console);
  }
  if (store.empty()) return UsageError(kFitCommand, "--store is missing", console);
  ComputePool pool(threads);
  ComputePool::SingleThreadedLibraries();
  const absl::StatusOr<StoredPairs> pairs = ReadStoredPairs(store, images, captions, &pool, call);
  const absl::StatusOr<std::string> text = pairs.ok() ? Fit(pairs->embeddings, &pool, call)
                                                      : absl::StatusOr<std::string>(pairs.status());
  if (!text.ok()) return Fail(text.status(), console);
  console.out << *text;
  return kSuccess;
}

}  // namespace sightline
