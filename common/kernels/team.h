// Threads that take the pieces of one pass.
#ifndef SIGHTLINE_COMMON_KERNELS_TEAM_H_
#define SIGHTLINE_COMMON_KERNELS_TEAM_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace sightline::kernels {

class Team {
 public:
  virtual ~Team() = default;
  // The most that work at once: at least 1.
  virtual int size() const = 0;
  // Calls body(piece, member) for each piece in [0, count), member in [0, size()) being the
  // calling thread's own number, and returns when all have ended.  `body` must not throw.
  virtual void ForEach(int64_t count, absl::FunctionRef<void(int64_t piece, int member)> body) = 0;
};

// The calling thread alone.
class TeamOfOne final : public Team {
 public:
  int size() const override { return 1; }
  void ForEach(int64_t count, absl::FunctionRef<void(int64_t piece, int member)> body) override {
    for (int64_t piece = 0; piece < count; ++piece) body(piece, 0);
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_TEAM_H_
