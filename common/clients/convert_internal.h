// What the conversions share among themselves.  Not for others.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_INTERNAL_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_INTERNAL_H_

#include <google/protobuf/duration.pb.h>

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/clients/convert.h"

namespace sightline {
namespace convert_internal {

// std::visit over lambdas.
template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// A value of an enum of ours and what stands for it on the wire: a row of a table that both
// directions read.  The static_assert beside a table sees to a row for each that the wire has.
template <typename Ours, typename Wire>
struct WireValue {
  Ours ours;
  Wire wire;
};

// 0, which the wire keeps for "unspecified", for one that has no row.
template <typename Ours, typename Wire, size_t n>
Wire ToWire(const WireValue<Ours, Wire> (&table)[n], Ours value) {
  for (const auto& row : table) {
    if (row.ours == value) return row.wire;
  }
  return Wire{};
}

// None for one that has no row: it is unspecified, or of a newer peer.
template <typename Ours, typename Wire, size_t n>
absl::optional<Ours> FromWire(const WireValue<Ours, Wire> (&table)[n], int value) {
  for (const auto& row : table) {
    if (row.wire == value) return row.ours;
  }
  return absl::nullopt;
}

inline void DurationToProto(absl::Duration duration, google::protobuf::Duration* out) {
  absl::Duration rest;
  out->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  out->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
}

inline absl::Duration DurationFromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// Not negative, with fractions that are some.
inline absl::Status CheckDuration(const google::protobuf::Duration& duration,
                                  const FieldPath& path) {
  constexpr int kNanosPerSecond = 1'000'000'000;
  if (duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() < kNanosPerSecond) {
    return absl::OkStatus();
  }
  return InvalidField(
      path, absl::StrCat("is ", duration.seconds(), " s and ", duration.nanos(),
                         " ns, must not be negative, and the latter less than ", kNanosPerSecond));
}

inline absl::Status CheckCount(int64_t count, int64_t low, int64_t high, const FieldPath& path) {
  if (count >= low && count <= high) return absl::OkStatus();
  if (low == high) return InvalidField(path, absl::StrCat("has ", count, " entries, not ", low));
  return InvalidField(path, absl::StrCat("has ", count, " entries, must have ", low, " to ", high));
}

inline absl::Status CheckIndex(int64_t value, const FieldPath& path) {
  if (value >= 0) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("is ", value, ", must not be negative"));
}

inline absl::Status CheckFinite(float value, const FieldPath& path) {
  return std::isfinite(value) ? absl::OkStatus() : InvalidField(path, "is not finite");
}

// What a wrong answer looks like to FromProto is the server's fault, not the caller's.
template <typename T>
absl::StatusOr<T> AsBadAnswer(absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return absl::InternalError(
      absl::StrCat("the answer is not one to this request: ", result.status().message()));
}

inline absl::Status CheckSameGeneration(const v1::GenerationKey& asked,
                                        const v1::GenerationKey& answered) {
  if (asked.index() == answered.index() && asked.generation() == answered.generation() &&
      asked.space() == answered.space()) {
    return absl::OkStatus();
  }
  return InvalidField(FieldPath("generation"),
                      absl::StrCat("is ", answered.index(), "/", answered.generation(), " (space ",
                                   answered.space(), "), asked was ", asked.index(), "/",
                                   asked.generation(), " (space ", asked.space(), ")"));
}

}  // namespace convert_internal
}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_INTERNAL_H_
