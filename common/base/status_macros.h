// Two macros that pass an error on, so that a function reads as its happy path.
//
//   RETURN_IF_ERROR(file.Sync());
//   ASSIGN_OR_RETURN(std::string text, ReadFile(path));
#ifndef SIGHTLINE_COMMON_BASE_STATUS_MACROS_H_
#define SIGHTLINE_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// clang-format off
#define SIGHTLINE_CONCAT_INNER(a, b) a##b
#define SIGHTLINE_CONCAT(a, b) SIGHTLINE_CONCAT_INNER(a, b)

// Evaluates an expression of type absl::Status and returns it if it is an error.
#define RETURN_IF_ERROR(expr)                            \
  do {                                                   \
    if (absl::Status status_ = (expr); !status_.ok()) {  \
      return status_;                                    \
    }                                                    \
  } while (false)

// Evaluates an expression of type absl::StatusOr<T>; returns its error, or moves its
// value into `lhs` (a declaration or an lvalue).
#define ASSIGN_OR_RETURN(lhs, expr) \
  SIGHTLINE_ASSIGN_OR_RETURN(SIGHTLINE_CONCAT(or_, __LINE__), lhs, expr)
#define SIGHTLINE_ASSIGN_OR_RETURN(result, lhs, expr) \
  auto result = (expr);                               \
  if (!result.ok()) return std::move(result).status();\
  lhs = *std::move(result)
// clang-format on

#endif  // SIGHTLINE_COMMON_BASE_STATUS_MACROS_H_
