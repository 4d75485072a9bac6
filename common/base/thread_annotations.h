// What clang's thread-safety analysis (-Wthread-safety) reads of a class that is used by several
// threads: which mutex guards a member, and which one a function needs, takes or must not find
// held.  For gcc these words are empty; tests/thread_safety.sh is where they are checked.
//
//   class Counter {
//    public:
//     void Add() EXCLUDES(mutex_);
//    private:
//     void Publish() REQUIRES(mutex_);
//     Mutex mutex_;
//     int64_t count_ GUARDED_BY(mutex_) = 0;
//   };
#ifndef SIGHTLINE_COMMON_BASE_THREAD_ANNOTATIONS_H_
#define SIGHTLINE_COMMON_BASE_THREAD_ANNOTATIONS_H_

#include "absl/base/thread_annotations.h"

// Abseil's header defines these as well, for those who came before its prefix.
#undef GUARDED_BY
#undef NO_THREAD_SAFETY_ANALYSIS

#if defined(__clang__)
#define SIGHTLINE_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define SIGHTLINE_THREAD_ANNOTATION(attribute)
#endif

// Of a member: read and written only with `mutex` held.
#define GUARDED_BY(mutex) SIGHTLINE_THREAD_ANNOTATION(guarded_by(mutex))

// Of a function: the caller holds these, and still does afterwards.
#define REQUIRES(...) SIGHTLINE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

// Of a function: the caller holds none of these, because it takes them itself or calls who does.
#define EXCLUDES(...) SIGHTLINE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// Of a function: it returns with these held, or no longer held; without any, its object.
#define ACQUIRE(...) SIGHTLINE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) SIGHTLINE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

// Of a class: it can be held; its objects hold one for as long as they live.
#define CAPABILITY(kind) SIGHTLINE_THREAD_ANNOTATION(capability(kind))
#define SCOPED_CAPABILITY SIGHTLINE_THREAD_ANNOTATION(scoped_lockable)

// Of a function: its body is not checked.  A comment there says what is right nevertheless.
#define NO_THREAD_SAFETY_ANALYSIS SIGHTLINE_THREAD_ANNOTATION(no_thread_safety_analysis)

#endif  // SIGHTLINE_COMMON_BASE_THREAD_ANNOTATIONS_H_
