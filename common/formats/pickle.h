// Python pickles, read as data: nothing is imported, called or executed.
//
// A pickle is a program for a small stack machine.  This one knows the instructions of
// protocol 2, which torch.save uses, and builds a tree: what a pickle asks to be called
// stays in the tree as an object with the callable's name and its arguments, for the
// reader to make sense of, or not.  collections.OrderedDict alone is understood, as a dict.
#ifndef SIGHTLINE_COMMON_FORMATS_PICKLE_H_
#define SIGHTLINE_COMMON_FORMATS_PICKLE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// One value.  Values may be shared, and a hostile pickle can make one contain itself: who
// walks a tree must bound the depth.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kList,
    kTuple,
    kDict,
    kGlobal,      // a class or function; text: "module.name"
    kObject,      // what a call would give; text: name of what is called
    kPersistent,  // something outside of the pickle
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // of a bool: 0 or 1
  double real = 0;
  std::string text;  // not necessarily UTF-8
  // Of a list or tuple: its items; of a dict: key, value, key, value, ...; of an object:
  // the arguments, a tuple in most cases, and then its state, where it has one; of a
  // persistent: its id.  Never null.
  std::vector<const PickleValue*> items;

  // The dict's value for a text `key`, the last one; null if there is none or this is no
  // dict.
  const PickleValue* Find(absl::string_view key) const;
};

// Immutable, thread-safe.
class Pickle {
 public:
  // DataLoss for what is no pickle of protocol 2, truncated, longer than 64 MiB or of more
  // than a million values; it says where.  Memory is bounded by a small multiple of
  // `bytes`, and 200 MB.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes);

  const PickleValue& root() const { return *root_; }

 private:
  std::deque<PickleValue> values_;  // that pointers point to
  const PickleValue* root_ = nullptr;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_PICKLE_H_
