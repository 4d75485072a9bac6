// Makes an object that of the calling thread for a while, so that what happens deep below finds it
// without its being handed down.
//
//   const ThreadScope<ReadPace> scope(&pace);
//   ... ThreadScope<ReadPace>::current() ...
#ifndef SIGHTLINE_COMMON_BASE_THREAD_SCOPE_H_
#define SIGHTLINE_COMMON_BASE_THREAD_SCOPE_H_

#include <utility>

namespace sightline {

// Ends on the thread on which it began; within another, that one's object is back then.
template <typename T>
class ThreadScope {
 public:
  // `object`, which may be null, outlives the scope.
  explicit ThreadScope(T* object) : before_(std::exchange(current_, object)) {}
  ~ThreadScope() { current_ = before_; }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  // Of the innermost scope of the calling thread; null without one.
  static T* current() { return current_; }

 private:
  inline static thread_local T* current_ = nullptr;
  T* const before_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_THREAD_SCOPE_H_
