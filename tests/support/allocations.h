// How much a piece of code allocates: this library puts an operator new of its own in the
// place of the standard one, so that libraries are counted too.
//
//   const PeakAllocation peak;
//   message.ParseFromString(bytes);
//   CHECK(peak.bytes() < 1000);
#ifndef SIGHTLINE_TESTS_SUPPORT_ALLOCATIONS_H_
#define SIGHTLINE_TESTS_SUPPORT_ALLOCATIONS_H_

#include <cstdint>

namespace sightline {

// One at a time; counts the allocations of all threads.
class PeakAllocation {
 public:
  PeakAllocation();

  // The most that was held at once since then beyond what was held then, with what the
  // allocator adds to each.
  int64_t bytes() const;

  // What is held now beyond that; negative if there is less.
  int64_t bytes_now() const;

 private:
  const int64_t before_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_ALLOCATIONS_H_
