#include "common/formats/pickle.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxBytes = 64 << 20;
constexpr size_t kMaxValues = 1 << 20;
constexpr size_t kMaxStack = 1 << 20;  // marks included

// Big-endian, as pickles have their floating-point numbers.
double BigEndianDouble(absl::string_view bytes) {
  uint64_t bits = 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The stack machine.  Instructions that fail leave a reason; Run adds where it was.
class Machine {
 public:
  Machine(absl::string_view bytes, std::deque<PickleValue>* values)
      : bytes_(bytes), rest_(bytes), values_(values) {}

  absl::StatusOr<const PickleValue*> Run() {
    while (!rest_.empty()) {
      const size_t at = bytes_.size() - rest_.size();
      const char opcode = rest_.front();
      rest_.remove_prefix(1);
      if (opcode == '.') {
        if (stack_.size() != 1 || !marks_.empty()) return Failed(at, "it ends in the middle");
        return stack_.back();
      }
      if (!Step(opcode)) return Failed(at, problem_);
      if (values_->size() > kMaxValues) return Failed(at, "more than a million values");
      if (stack_.size() + marks_.size() > kMaxStack) return Failed(at, "the stack is too deep");
    }
    return Failed(bytes_.size(), "it has no end");
  }

 private:
  static absl::Status Failed(size_t at, absl::string_view why) {
    return absl::DataLossError(absl::StrCat("broken pickle: at byte ", at, ": ", why));
  }

  bool Refuse(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  // clang-format off
  bool Step(char opcode) {
    switch (static_cast<unsigned char>(opcode)) {
      case 0x80: return Protocol();
      case 'N': return Push(Kind::kNone);
      case 0x88: return PushInteger(Kind::kBool, 1);
      case 0x89: return PushInteger(Kind::kBool, 0);
      case 'J': return PushLoaded<int32_t>();
      case 'K': return PushLoaded<uint8_t>();
      case 'M': return PushLoaded<uint16_t>();
      case 0x8A: return Long();
      case 'G': return Float();
      case 'X': return Text<uint32_t>();
      case 'T': return Text<uint32_t>();
      case 'U': return Text<uint8_t>();
      case ')': return Push(Kind::kTuple);
      case ']': return Push(Kind::kList);
      case '}': return Push(Kind::kDict);
      case 0x85: return Gather(Kind::kTuple, 1);
      case 0x86: return Gather(Kind::kTuple, 2);
      case 0x87: return Gather(Kind::kTuple, 3);
      case '(': marks_.push_back(stack_.size()); return true;
      case 't': return SinceMark() && Gather(Kind::kTuple, since_mark_);
      case 'a': return Extend(1, /*pairs=*/false);
      case 'e': return SinceMark() && Extend(since_mark_, /*pairs=*/false);
      case 's': return Extend(2, /*pairs=*/true);
      case 'u': return SinceMark() && Extend(since_mark_, /*pairs=*/true);
      case 'q': return Remember<uint8_t>();
      case 'r': return Remember<uint32_t>();
      case 'h': return Recall<uint8_t>();
      case 'j': return Recall<uint32_t>();
      case 'c': return Global();
      case 'R': return Call();
      case 0x81: return Call();
      case 'b': return SetState();
      case 'Q': return Gather(Kind::kPersistent, 1);
      case '0': return Drop();
      default:
        return Refuse(absl::StrCat("instruction 0x", absl::Hex(opcode, absl::kZeroPad2),
                                   " is not of protocol 2 as torch.save writes it"));
    }
  }
  // clang-format on

  // --- reading ---

  bool Take(size_t count, absl::string_view* taken) {
    if (count > rest_.size()) return Refuse("it is cut off");
    *taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

  template <typename T>
  bool Load(T* value) {
    absl::string_view bytes;
    if (!Take(sizeof(T), &bytes)) return false;
    *value = LoadLittleEndian<T>(bytes.data());
    return true;
  }

  bool Protocol() {
    uint8_t version;
    if (!Load(&version)) return false;
    return version == 2 ||
           Refuse(absl::StrCat("protocol ", version, ", where torch.save writes 2"));
  }

  // --- making values ---

  PickleValue* Make(Kind kind) {
    values_->emplace_back();
    values_->back().kind = kind;
    return &values_->back();
  }

  bool Push(Kind kind) {
    stack_.push_back(Make(kind));
    return true;
  }

  bool PushInteger(Kind kind, int64_t number) {
    Push(kind);
    stack_.back()->integer = number;
    return true;
  }

  template <typename T>
  bool PushLoaded() {
    T number;
    return Load(&number) && PushInteger(Kind::kInt, number);
  }

  bool Long() {
    uint8_t count;
    absl::string_view bytes;
    if (!Load(&count) || !Take(count, &bytes)) return false;
    if (count > sizeof(int64_t)) return Refuse("a number of more than 64 bits");
    // Two's complement, as short as it goes.
    uint64_t bits = count > 0 && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = count; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    return PushInteger(Kind::kInt, static_cast<int64_t>(bits));
  }

  bool Float() {
    absl::string_view bytes;
    if (!Take(sizeof(double), &bytes)) return false;
    Push(Kind::kFloat);
    stack_.back()->real = BigEndianDouble(bytes);
    return true;
  }

  template <typename Length>
  bool Text() {
    Length length;
    absl::string_view bytes;
    if (!Load(&length) || !Take(length, &bytes)) return false;
    Push(Kind::kText);
    stack_.back()->text = std::string(bytes);
    return true;
  }

  bool Global() {
    std::string name;
    for (const char* separator : {"", "."}) {
      const size_t end = rest_.find('\n');
      if (end == absl::string_view::npos) return Refuse("a name has no end");
      absl::StrAppend(&name, separator, rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
    }
    Push(Kind::kGlobal);
    stack_.back()->text = std::move(name);
    return true;
  }

  // --- the stack ---

  // Whether `count` values lie above the last mark.
  bool Needs(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    return stack_.size() - floor >= count || Refuse("the stack is too short");
  }

  // Takes the last mark off and counts what lay above it.
  bool SinceMark() {
    if (marks_.empty()) return Refuse("there is no mark");
    since_mark_ = stack_.size() - marks_.back();
    marks_.pop_back();
    return true;
  }

  bool Drop() {
    if (!Needs(1)) return false;
    stack_.pop_back();
    return true;
  }

  // The last `count` values become the items of one.
  bool Gather(Kind kind, size_t count) {
    if (!Needs(count)) return false;
    PickleValue* value = Make(kind);
    value->items.assign(stack_.end() - count, stack_.end());
    stack_.resize(stack_.size() - count);
    stack_.push_back(value);
    return true;
  }

  // The last `count` values go into the container below them.
  bool Extend(size_t count, bool pairs) {
    if (!Needs(count + 1)) return false;
    PickleValue* container = stack_[stack_.size() - count - 1];
    const Kind kind = container->kind;
    if (pairs && count % 2 != 0) return Refuse("a key without a value");
    // An object may take items as well; nobody reads them.
    if (kind == (pairs ? Kind::kDict : Kind::kList)) {
      container->items.insert(container->items.end(), stack_.end() - count, stack_.end());
    } else if (kind != Kind::kObject) {
      return Refuse("items for what is no container");
    }
    stack_.resize(stack_.size() - count);
    return true;
  }

  template <typename Index>
  bool Remember() {
    Index index;
    if (!Load(&index) || !Needs(1)) return false;
    memo_[index] = stack_.back();
    return true;
  }

  template <typename Index>
  bool Recall() {
    Index index;
    if (!Load(&index)) return false;
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Refuse(absl::StrCat("memo ", index, " is empty"));
    stack_.push_back(found->second);
    return true;
  }

  // --- what would be calls ---

  bool Call() {
    if (!Needs(2)) return false;
    PickleValue* arguments = stack_.back();
    const PickleValue* callable = stack_[stack_.size() - 2];
    if (callable->kind != Kind::kGlobal) return Refuse("a call of what has no name");
    stack_.resize(stack_.size() - 2);
    if (callable->text == "collections.OrderedDict") return OrderedDict(*arguments);
    PickleValue* object = Make(Kind::kObject);
    object->text = callable->text;
    object->items.push_back(arguments);
    stack_.push_back(object);
    return true;
  }

  // Without arguments, or with a list of pairs, as Python 2 has it.
  bool OrderedDict(const PickleValue& arguments) {
    Push(Kind::kDict);
    if (arguments.items.empty()) return true;
    for (const PickleValue* pair : arguments.items[0]->items) {
      if (pair->items.size() != 2) return Refuse("an OrderedDict of what are no pairs");
      // The only items that are copied: a list may be used more than once.
      if (++copied_pairs_ > kMaxValues) return Refuse("more than a million values");
      stack_.back()->items.insert(stack_.back()->items.end(), pair->items.begin(),
                                  pair->items.end());
    }
    return true;
  }

  // A dict's state is what torch calls _metadata; of no use here.
  bool SetState() {
    if (!Needs(2)) return false;
    const PickleValue* state = stack_.back();
    stack_.pop_back();
    if (stack_.back()->kind == Kind::kObject) stack_.back()->items.push_back(state);
    return true;
  }

  const absl::string_view bytes_;
  absl::string_view rest_;
  std::deque<PickleValue>* const values_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  size_t since_mark_ = 0;
  size_t copied_pairs_ = 0;
  std::unordered_map<uint32_t, PickleValue*> memo_;
  std::string problem_;
};

}  // namespace

const PickleValue* PickleValue::Find(absl::string_view key) const {
  if (kind != Kind::kDict) return nullptr;
  const PickleValue* found = nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kText && items[i]->text == key) found = items[i + 1];
  }
  return found;
}

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes) {
  if (bytes.size() > kMaxBytes) {
    return absl::DataLossError(
        absl::StrCat("broken pickle: ", bytes.size(), " bytes; at most ", kMaxBytes, " are read"));
  }
  Pickle pickle;
  ASSIGN_OR_RETURN(pickle.root_, Machine(bytes, &pickle.values_).Run());
  return pickle;
}

}  // namespace sightline
