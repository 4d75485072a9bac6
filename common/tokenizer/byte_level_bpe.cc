#include "common/tokenizer/byte_level_bpe.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/tokenizer/byte_level_words.h"

namespace sightline {
namespace {

constexpr int32_t kByteCount = 256;
// How many the release takes of its list.
constexpr size_t kMaxMerges = 49152 - 256 - 2;
constexpr size_t kMaxSymbolBytes = 512;
constexpr absl::string_view kHeading = "#version:";

absl::Status LineError(size_t line_number, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("merges line ", line_number, " ", what));
}

// Symbols of one word that are joined pair by pair: always the pair that was learnt first,
// and of equal ones the leftmost.  As a pair's parts were learnt before it, no join makes
// room for one that should have come earlier, and so this is what the release gets by
// joining all equal pairs at a time.
class PairJoiner {
 public:
  using Merges = absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t>;

  PairJoiner(const Merges& merges, std::vector<int32_t> symbols)
      : merges_(merges), ids_(std::move(symbols)), next_(ids_.size()), previous_(ids_.size()) {
    for (size_t i = 0; i < ids_.size(); ++i) {
      next_[i] = i + 1;
      previous_[i] = i - 1;
    }
    for (size_t i = 0; i < ids_.size(); ++i) Offer(i);
  }

  void Join(std::vector<int32_t>* ids) {
    while (!candidates_.empty()) {
      const auto [joined, left] = candidates_.top();
      candidates_.pop();
      if (JoinedWithNext(left) != joined) continue;  // one of the two is gone
      const size_t right = next_[left];
      ids_[left] = joined;
      ids_[right] = kGone;
      next_[left] = next_[right];
      if (next_[left] < ids_.size()) previous_[next_[left]] = left;
      Offer(left);
      if (left > 0) Offer(previous_[left]);
    }
    std::copy_if(ids_.begin(), ids_.end(), std::back_inserter(*ids),
                 [](int32_t id) { return id != kGone; });
  }

 private:
  static constexpr int32_t kGone = -1;

  // What the symbol at `left` and the next one become; kGone if nothing.
  int32_t JoinedWithNext(size_t left) const {
    if (ids_[left] == kGone || next_[left] >= ids_.size()) return kGone;
    const auto found = merges_.find({ids_[left], ids_[next_[left]]});
    return found == merges_.end() ? kGone : found->second;
  }

  void Offer(size_t left) {
    const int32_t joined = JoinedWithNext(left);
    if (joined != kGone) candidates_.push({joined, left});
  }

  using Candidate = std::pair<int32_t, size_t>;  // what a pair becomes, and where it is
  const Merges& merges_;
  std::vector<int32_t> ids_;
  std::vector<size_t> next_;
  std::vector<size_t> previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<Candidate>> candidates_;
};

}  // namespace

ByteLevelBpeTokenizer::ByteLevelBpeTokenizer() {
  int32_t id = 0;
  for (const int byte : BytesInOrder()) {
    symbols_.push_back(ByteSpelling(byte));
    byte_ids_[byte] = id++;
  }
  for (int32_t i = 0; i < kByteCount; ++i) symbols_.push_back(absl::StrCat(symbols_[i], kWordEnd));
  for (size_t i = 0; i < symbols_.size(); ++i) ids_[symbols_[i]] = static_cast<int32_t>(i);
}

absl::StatusOr<std::unique_ptr<ByteLevelBpeTokenizer>> ByteLevelBpeTokenizer::Create(
    absl::string_view merges) {
  std::unique_ptr<ByteLevelBpeTokenizer> tokenizer(new ByteLevelBpeTokenizer());
  RETURN_IF_ERROR(tokenizer->ReadMerges(merges));
  SpecialIds special;
  special.cls = static_cast<int32_t>(tokenizer->symbols_.size());
  special.sep = special.cls + 1;
  tokenizer->set_special_ids(special);
  return tokenizer;
}

absl::Status ByteLevelBpeTokenizer::ReadMerges(absl::string_view merges) {
  for (size_t line_number = 1; !merges.empty() && line_number <= kMaxMerges + 1; ++line_number) {
    const size_t end = std::min(merges.find('\n'), merges.size());
    absl::string_view line = merges.substr(0, end);
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (line_number > 1) {
      RETURN_IF_ERROR(AddMerge(line, line_number));
    } else if (!absl::StrContains(line, kHeading)) {
      return LineError(1, "is no heading with \"#version:\"; is it a list of BPE merges?");
    }
  }
  if (merges_.empty()) return absl::InvalidArgumentError("the list of BPE merges is empty");
  return absl::OkStatus();
}

absl::Status ByteLevelBpeTokenizer::AddMerge(absl::string_view line, size_t line_number) {
  if (line.size() > 2 * kMaxSymbolBytes) {
    return LineError(line_number, absl::StrCat("has ", line.size(), " bytes; a symbol has at most ",
                                               kMaxSymbolBytes));
  }
  RETURN_IF_ERROR(CheckUtf8(line, absl::StrCat("merges line ", line_number)));
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos) {
    return LineError(line_number, absl::StrCat("is \"", line, "\", not two symbols"));
  }
  const absl::string_view left = line.substr(0, space);
  const absl::string_view right = line.substr(space + 1);
  ASSIGN_OR_RETURN(const int32_t left_id, FindSymbol(left, line_number));
  ASSIGN_OR_RETURN(const int32_t right_id, FindSymbol(right, line_number));
  std::string joined = absl::StrCat(left, right);
  if (joined.size() > kMaxSymbolBytes) {
    return LineError(line_number, absl::StrCat("makes ", joined.size(),
                                               " bytes; a symbol has at most ", kMaxSymbolBytes));
  }
  const auto joined_id = static_cast<int32_t>(symbols_.size());
  if (!ids_.emplace(joined, joined_id).second) {
    return LineError(line_number, absl::StrCat("makes \"", joined, "\", which there is already"));
  }
  symbols_.push_back(std::move(joined));
  merges_[{left_id, right_id}] = joined_id;
  return absl::OkStatus();
}

absl::StatusOr<int32_t> ByteLevelBpeTokenizer::FindSymbol(absl::string_view symbol,
                                                          size_t line_number) const {
  const auto found = ids_.find(symbol);
  if (found == ids_.end()) {
    return LineError(line_number, absl::StrCat("has \"", symbol,
                                               "\", which is no byte and made by no line above"));
  }
  return found->second;
}

void ByteLevelBpeTokenizer::AppendWord(absl::string_view word, std::vector<int32_t>* ids) const {
  std::vector<int32_t> symbols;
  symbols.reserve(word.size());
  for (const char byte : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  symbols.back() += kByteCount;  // the one that ends the word
  PairJoiner(merges_, std::move(symbols)).Join(ids);
}

absl::StatusOr<std::vector<int32_t>> ByteLevelBpeTokenizer::Encode(absl::string_view text) const {
  std::vector<int32_t> ids;
  RETURN_IF_ERROR(
      ForEachByteLevelWord(text, [&](absl::string_view word) { AppendWord(word, &ids); }));
  return ids;
}

}  // namespace sightline
