#include "common/evaluation/score_timing.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr double kMostSeconds = 1e12;

absl::StatusOr<absl::optional<double>> SecondsAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return absl::optional<double>();
  const double value = found->is_number() ? found->get<double>() : -1;
  if (value >= 0 && value <= kMostSeconds) return absl::optional<double>(value);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" is no number of seconds from 0 to ", kMostSeconds));
}

// A count from 1 to `most`, or `missing`.
absl::StatusOr<double> CountAt(const Json& object, const char* key, double most, double missing) {
  const auto found = object.find(key);
  if (found == object.end()) return missing;
  const double value = found->is_number_integer() ? found->get<double>() : 0;
  if (value >= 1 && value <= most) return value;
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no whole number from 1 to ",
                                                 std::llround(most),
                                                 ", which is all that there are"));
}

void Add(const ScoreTiming& timing, int pairs, QueryTime* time) {
  const double scored = pairs;
  time->seconds += timing.seconds_per_query * scored / timing.pairs_per_query;
  if (timing.extrapolated || scored != timing.pairs_per_query) time->computed = true;
  if (!timing.encoding_seconds.has_value()) {
    time->encoding_seconds.reset();
  } else if (time->encoding_seconds.has_value()) {
    *time->encoding_seconds += *timing.encoding_seconds;
  }
}

}  // namespace

std::string TimingPath(absl::string_view matrix_path) {
  return absl::StrCat(matrix_path, ".json");
}

absl::StatusOr<ScoreTiming> ParseScoreTiming(absl::string_view text, const MatrixItems& items) {
  const Json json =
      Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  ScoreTiming timing;
  ASSIGN_OR_RETURN(const absl::optional<double> seconds, SecondsAt(json, "seconds_per_query"));
  if (!seconds.has_value()) return absl::InvalidArgumentError("\"seconds_per_query\" is missing");
  timing.seconds_per_query = *seconds;
  ASSIGN_OR_RETURN(timing.encoding_seconds, SecondsAt(json, "encoding_seconds"));
  const auto images = static_cast<double>(items.images.size());
  ASSIGN_OR_RETURN(timing.pairs_per_query, CountAt(json, "pairs_per_query", images, images));
  const double all = timing.pairs_per_query;
  ASSIGN_OR_RETURN(const double timed, CountAt(json, "extrapolated_from", all, all));
  timing.extrapolated = timed < all;
  return timing;
}

ScoreTiming SaidTiming(double seconds_per_query, const MatrixItems& items) {
  ScoreTiming timing;
  timing.seconds_per_query = seconds_per_query;
  timing.pairs_per_query = static_cast<double>(items.images.size());
  return timing;
}

QueryTime TimeOfQuery(absl::Span<const ScoreTiming> retrieval, absl::Span<const ScoreTiming> rerank,
                      int depth, int image_count) {
  QueryTime time;
  time.encoding_seconds = 0;
  for (const ScoreTiming& timing : retrieval) Add(timing, image_count, &time);
  if (depth == 0) return time;
  for (const ScoreTiming& timing : rerank) Add(timing, std::min(depth, image_count), &time);
  return time;
}

}  // namespace sightline
