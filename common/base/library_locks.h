// What libraries do when they lock.
#ifndef SIGHTLINE_COMMON_BASE_LIBRARY_LOCKS_H_
#define SIGHTLINE_COMMON_BASE_LIBRARY_LOCKS_H_

namespace sightline {

// Abseil as Debian builds it looks at each lock of an absl::Mutex, of which gRPC has many, for
// cycles in the order in which they are locked, under a lock that all threads share.  That finds
// mistakes of whoever writes gRPC, and takes a server some hundredths of its processor time: no
// more of it from now on, in the whole process.
void StopLookingForDeadlocks();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_LIBRARY_LOCKS_H_
