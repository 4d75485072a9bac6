#include "common/evaluation/score_timing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

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

absl::StatusOr<absl::optional<TimeSpread>> SpreadAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return absl::optional<TimeSpread>();
  if (!found->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no JSON object"));
  }
  TimeSpread spread;
  const std::pair<const char*, double*> numbers[] = {{"mean", &spread.mean},
                                                     {"min", &spread.least},
                                                     {"max", &spread.most},
                                                     {"p95", &spread.p95},
                                                     {"p99_99", &spread.p99_99}};
  for (const auto& [name, number] : numbers) {
    ASSIGN_OR_RETURN(const absl::optional<double> seconds,
                     Within(absl::StrCat("\"", key, "\""), SecondsAt(*found, name)));
    if (!seconds.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" has no \"", name, "\""));
    }
    *number = *seconds;
  }
  return absl::optional<TimeSpread>(spread);
}

// The least of sorted numbers that is not below a share of them.
double Quantile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

void Add(const ScoreTiming& timing, double scored, QueryTime* time) {
  time->seconds += *timing.seconds_per_query * scored / timing.pairs_per_query;
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

TimeSpread SpreadOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  TimeSpread spread;
  for (const double one : seconds) spread.mean += one / static_cast<double>(seconds.size());
  spread.least = seconds.front();
  spread.most = seconds.back();
  spread.p95 = Quantile(seconds, 0.95);
  spread.p99_99 = Quantile(seconds, 0.9999);
  return spread;
}

nlohmann::ordered_json TimeSpreadJson(const TimeSpread& spread) {
  return {{"mean", spread.mean},
          {"min", spread.least},
          {"max", spread.most},
          {"p95", spread.p95},
          {"p99_99", spread.p99_99}};
}

absl::StatusOr<absl::optional<QueryTime>> ParseQueryTime(const nlohmann::json& object) {
  ASSIGN_OR_RETURN(const absl::optional<double> seconds, SecondsAt(object, "seconds_per_query"));
  if (!seconds.has_value()) return absl::optional<QueryTime>();
  QueryTime time;
  time.seconds = *seconds;
  ASSIGN_OR_RETURN(time.spread, SpreadAt(object, "query_seconds"));
  return absl::optional<QueryTime>(time);
}

absl::StatusOr<ScoreTiming> ParseScoreTiming(absl::string_view text, const MatrixItems& items) {
  const Json json =
      Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("is no JSON object; remove it, or write the matrix anew");
  }
  ScoreTiming timing;
  ASSIGN_OR_RETURN(timing.seconds_per_query, SecondsAt(json, "seconds_per_query"));
  ASSIGN_OR_RETURN(timing.encoding_seconds, SecondsAt(json, "encoding_seconds"));
  const auto images = static_cast<double>(items.images.size());
  ASSIGN_OR_RETURN(timing.pairs_per_query, CountAt(json, "pairs_per_query", images, images));
  const double all = timing.pairs_per_query;
  ASSIGN_OR_RETURN(const double timed, CountAt(json, "extrapolated_from", all, all));
  timing.extrapolated = timed < all;
  ASSIGN_OR_RETURN(timing.spread, SpreadAt(json, "query_seconds"));
  return timing;
}

ScoreTiming SaidTiming(double seconds_per_query, const MatrixItems& items) {
  ScoreTiming timing;
  timing.seconds_per_query = seconds_per_query;
  timing.pairs_per_query = static_cast<double>(items.images.size());
  return timing;
}

absl::optional<QueryTime> TimeOfQuery(absl::Span<const ScoreTiming> retrieval,
                                      absl::Span<const ScoreTiming> rerank, int depth,
                                      int image_count) {
  const auto measured = [](const ScoreTiming& timing) {
    return timing.seconds_per_query.has_value();
  };
  if (depth == 0) rerank = {};
  if (!std::all_of(retrieval.begin(), retrieval.end(), measured) ||
      !std::all_of(rerank.begin(), rerank.end(), measured)) {
    return absl::nullopt;
  }
  QueryTime time;
  time.encoding_seconds = 0;
  for (const ScoreTiming& timing : retrieval) Add(timing, image_count, &time);
  const bool alone = depth == 0 && retrieval.size() == 1;
  if (alone && retrieval.front().pairs_per_query == image_count) time.spread = retrieval[0].spread;
  for (const ScoreTiming& timing : rerank) Add(timing, std::min(depth, image_count), &time);
  return time;
}

absl::optional<QueryTime> TimeInPools(absl::Span<const ScoreTiming> retrieval,
                                      absl::Span<const ScoreTiming> rerank, int depth,
                                      absl::Span<const AskingCaptions> pools) {
  absl::optional<QueryTime> first = TimeOfQuery(retrieval, rerank, depth, pools.front().images);
  const bool alike = std::all_of(pools.begin(), pools.end(), [&](const AskingCaptions& pool) {
    return pool.images == pools.front().images;
  });
  if (alike || !first.has_value()) return first;
  QueryTime mean = *first;
  mean.spread.reset();
  mean.seconds = 0;
  double captions = 0;
  for (const AskingCaptions& pool : pools) {
    const absl::optional<QueryTime> time = TimeOfQuery(retrieval, rerank, depth, pool.images);
    const auto own = static_cast<double>(pool.captions);
    mean.seconds += own * time->seconds;
    mean.computed = mean.computed || time->computed;
    captions += own;
  }
  mean.seconds /= captions;
  return mean;
}

QueryTime MeanTime(absl::Span<const QueryTime> runs) {
  if (runs.size() == 1) return runs.front();
  const auto count = static_cast<double>(runs.size());
  QueryTime mean;
  double encoding = 0;
  bool all_encoded = true;
  for (const QueryTime& run : runs) {
    mean.seconds += run.seconds / count;
    mean.computed = mean.computed || run.computed;
    all_encoded = all_encoded && run.encoding_seconds.has_value();
    encoding += run.encoding_seconds.value_or(0) / count;
  }
  if (all_encoded) mean.encoding_seconds = encoding;
  return mean;
}

}  // namespace sightline
