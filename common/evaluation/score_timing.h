// How long scores took, as the program that wrote a matrix leaves it beside the matrix, in
// NAME.npy.json:
//
//   {"seconds_per_query": 0.41, "encoding_seconds": 12.5, "pairs_per_query": 5000,
//    "extrapolated_from": 1000,
//    "query_seconds": {"mean": 0.4, "min": 0.3, "max": 1.2, "p95": 0.6, "p99_99": 1.2}}
//
//   seconds_per_query   time of a caption that looks for images, once all is encoded; missing: not
//                       measured
//   encoding_seconds    of all images and captions before that; may be missing
//   pairs_per_query     images that it was scored with; missing: all
//   extrapolated_from   of which so many were timed, if not all were
//   query_seconds       how the times of single captions spread; may be missing
//
// Other keys are passed over.
#ifndef SIGHTLINE_COMMON_EVALUATION_SCORE_TIMING_H_
#define SIGHTLINE_COMMON_EVALUATION_SCORE_TIMING_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/evaluation/matrix_items.h"

namespace sightline {

// How long single queries took, in seconds.
struct TimeSpread {
  double mean = 0, least = 0, most = 0;
  double p95 = 0, p99_99 = 0;  // so many of a hundred took no longer; some query's own time
};

// REQUIRES: that there is a query.
TimeSpread SpreadOf(std::vector<double> seconds);

// As "query_seconds" above.
nlohmann::ordered_json TimeSpreadJson(const TimeSpread& spread);

// Of one matrix.  A value.
struct ScoreTiming {
  absl::optional<double> seconds_per_query;  // none: not measured
  double pairs_per_query = 0;                // that these seconds were for
  absl::optional<double> encoding_seconds;
  bool extrapolated = false;
  absl::optional<TimeSpread> spread;
};

// "be.npy" -> "be.npy.json".
std::string TimingPath(absl::string_view matrix_path);

// More than any such file has.
inline constexpr int64_t kMaxTimingBytes = 1 << 16;

// The file's text.  InvalidArgument, naming the key, for what is no number of its kind, and for
// more pairs than `items` has images.
absl::StatusOr<ScoreTiming> ParseScoreTiming(absl::string_view text, const MatrixItems& items);

// As somebody says it: of a caption with all images.
ScoreTiming SaidTiming(double seconds_per_query, const MatrixItems& items);

// Of a caption that looks for images, by one or two stages.
struct QueryTime {
  double seconds = 0;
  absl::optional<double> encoding_seconds;  // of all stages; missing if one does not say it
  // Not measured as it stands: a stage was timed with another number of pairs, of which as many
  // take as much longer.
  bool computed = false;
  // Of one stage by one matrix, timed with the pairs that it scores; else missing: a sum's spread
  // does not follow from its terms'.
  absl::optional<TimeSpread> spread;
};

// What an object says of a query by "seconds_per_query", as it stands, and "query_seconds"; nothing
// where the first is missing.  InvalidArgument, naming the key, for what is no number of seconds.
absl::StatusOr<absl::optional<QueryTime>> ParseQueryTime(const nlohmann::json& object);

// `retrieval` and `rerank` are the matrices whose scores a stage adds up: one, or an ensemble.
// Retrieval scores all `image_count` images, reranking `depth` of them (0: there is none).  Nothing
// where one that is asked was not measured.
absl::optional<QueryTime> TimeOfQuery(absl::Span<const ScoreTiming> retrieval,
                                      absl::Span<const ScoreTiming> rerank, int depth,
                                      int image_count);

// A pool: how many captions ask in it, and among how many images they look.
struct AskingCaptions {
  int64_t captions = 0;
  int images = 0;
};

// The same in the mean of all captions of some pools.  REQUIRES: that there is one.
absl::optional<QueryTime> TimeInPools(absl::Span<const ScoreTiming> retrieval,
                                      absl::Span<const ScoreTiming> rerank, int depth,
                                      absl::Span<const AskingCaptions> pools);

// The mean of several runs of one method, without a spread unless it is one.  REQUIRES: that there
// is one.
QueryTime MeanTime(absl::Span<const QueryTime> runs);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_SCORE_TIMING_H_
