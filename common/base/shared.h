// A value that never changes, copied by reference.
//
// For what is too big to be copied for everybody who needs it, such as an uploaded picture:
//
//   struct ImageQuery { Shared<std::string> bytes; };
//   ImageQuery query{std::move(picture)};   // taken over, not copied
//   ImageQuery other = query;               // the same bytes
//   Decode(*other.bytes);
#ifndef SIGHTLINE_COMMON_BASE_SHARED_H_
#define SIGHTLINE_COMMON_BASE_SHARED_H_

#include <memory>
#include <type_traits>
#include <utility>

namespace sightline {

// Thread-safe, like any const value.  Never without a value: moving copies the reference.
template <typename T>
class Shared {
 public:
  // A T{} that all of them share.
  Shared() : value_(Empty()) {}

  // Holds what `value` becomes as a T.
  template <typename U, typename = std::enable_if_t<!std::is_same_v<std::decay_t<U>, Shared> &&
                                                    std::is_convertible_v<U&&, T>>>
  Shared(U&& value) : value_(std::make_shared<const T>(std::forward<U>(value))) {}  // NOLINT

  Shared(const Shared&) = default;
  Shared& operator=(const Shared&) = default;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // For whoever has to keep it alive in other ways.
  const std::shared_ptr<const T>& owner() const { return value_; }

 private:
  static const std::shared_ptr<const T>& Empty() {
    static const auto* const empty = new std::shared_ptr<const T>(std::make_shared<const T>());
    return *empty;
  }

  std::shared_ptr<const T> value_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_SHARED_H_
