#include "common/tokenizer/sentencepiece_tokenizer.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/unicode.h"

namespace sightline {
namespace {

using Type = SentencePieceModel::Type;
using Pieces = std::vector<std::pair<absl::string_view, int32_t>>;

// SentencePiece's ids.
constexpr int32_t kUnknownPiece = 0;
constexpr int32_t kBeginPiece = 1;
constexpr int32_t kEndPiece = 2;
constexpr int32_t kFirstPiece = 3;  // of those that are not special

// Ours, which are fairseq's.
constexpr int32_t kBeginId = 0;
constexpr int32_t kPadId = 1;
constexpr int32_t kEndId = 2;
constexpr int32_t kUnknownId = 3;
constexpr int32_t kShift = 1;

// What an unknown character costs more than the rarest piece: SentencePiece's number.
constexpr float kUnknownPenalty = 10.0f;

absl::Status ModelError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("SentencePiece model: ", what));
}

// Bytes of the character that `text` starts with, as its first byte says.
size_t CharacterLength(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

// Of the sorted pieces from `begin` to `end`, which agree in their first `depth` bytes, those
// whose next byte is `byte`.
std::pair<Pieces::const_iterator, Pieces::const_iterator> Narrow(Pieces::const_iterator begin,
                                                                 Pieces::const_iterator end,
                                                                 size_t depth, char byte) {
  const auto wanted = static_cast<int>(static_cast<unsigned char>(byte));
  const auto at_depth = [depth](const auto& piece) {
    return piece.first.size() > depth
               ? static_cast<int>(static_cast<unsigned char>(piece.first[depth]))
               : -1;
  };
  const auto first =
      std::partition_point(begin, end, [&](const auto& piece) { return at_depth(piece) < wanted; });
  const auto last = std::partition_point(
      first, end, [&](const auto& piece) { return at_depth(piece) <= wanted; });
  return {first, last};
}

}  // namespace

// The best way to cut the text up to each byte (Viterbi).  The arithmetic is SentencePiece's
// to the bit, so that ties fall the same way: scores of paths are kept as float, but those of
// pieces are added as double.
class BestPaths {
 public:
  explicit BestPaths(size_t text_size) : nodes_(text_size + 1) {}

  float ScoreTo(size_t end) const { return nodes_[end].score; }

  // Offers a path to `end` whose last piece is `piece` from `begin`.
  void Offer(size_t begin, size_t end, int32_t piece, double score) {
    Node& node = nodes_[end];
    if (node.piece >= 0 && score <= node.score) return;
    node = {static_cast<float>(score), piece, begin};
  }

  // The pieces of the best path to the end.
  std::vector<int32_t> Trace() const {
    std::vector<int32_t> pieces;
    for (size_t end = nodes_.size() - 1; end > 0; end = nodes_[end].begin) {
      pieces.push_back(nodes_[end].piece);
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

 private:
  struct Node {
    float score = 0;
    int32_t piece = -1;  // the last one; none while there is no path
    size_t begin = 0;    // where it begins
  };
  std::vector<Node> nodes_;
};

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model,
                                               std::unique_ptr<SentencePieceNormalizer> normalizer)
    : model_(std::move(model)), normalizer_(std::move(normalizer)) {
  set_special_ids(
      {kPadId, kUnknownId, kBeginId, kEndId, static_cast<int32_t>(model_.pieces.size()) + kShift});
}

absl::StatusOr<std::unique_ptr<SentencePieceTokenizer>> SentencePieceTokenizer::Create(
    absl::string_view model) {
  ASSIGN_OR_RETURN(SentencePieceModel parsed, ParseSentencePieceModel(model));
  ASSIGN_OR_RETURN(auto normalizer, SentencePieceNormalizer::Create(parsed));
  std::unique_ptr<SentencePieceTokenizer> tokenizer(
      new SentencePieceTokenizer(std::move(parsed), std::move(normalizer)));
  RETURN_IF_ERROR(tokenizer->CheckSpecialPieces());
  RETURN_IF_ERROR(tokenizer->SortPieces());
  return tokenizer;
}

absl::Status SentencePieceTokenizer::CheckSpecialPieces() const {
  struct Special {
    absl::string_view text;
    Type type;
  };
  constexpr Special kSpecials[] = {
      {"<unk>", Type::kUnknown}, {"<s>", Type::kControl}, {"</s>", Type::kControl}};
  const auto& pieces = model_.pieces;
  for (int32_t id : {kUnknownPiece, kBeginPiece, kEndPiece}) {
    const Special& special = kSpecials[id];
    if (id >= static_cast<int32_t>(pieces.size()) || pieces[id].text != special.text ||
        pieces[id].type != special.type) {
      return ModelError(absl::StrCat("piece ", id, " is not the special piece ", special.text,
                                     "; XLM-R's begins with <unk>, <s>, </s>"));
    }
  }
  for (size_t id = kFirstPiece; id < pieces.size(); ++id) {
    if (pieces[id].type == Type::kUnknown) {
      return ModelError(absl::StrCat("piece ", id, " is a second unknown one"));
    }
  }
  return absl::OkStatus();
}

absl::Status SentencePieceTokenizer::SortPieces() {
  float least = std::numeric_limits<float>::max();
  for (size_t id = kFirstPiece; id < model_.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model_.pieces[id];
    if (piece.type == Type::kControl) continue;
    if (piece.type == Type::kNormal) least = std::min(least, piece.score);
    sorted_.emplace_back(piece.text, static_cast<int32_t>(id));
  }
  unknown_score_ = least - kUnknownPenalty;
  std::sort(sorted_.begin(), sorted_.end());
  const auto twice =
      std::adjacent_find(sorted_.begin(), sorted_.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != sorted_.end()) {
    return ModelError(absl::StrCat("piece ", (twice + 1)->second, " repeats \"", twice->first,
                                   "\" of piece ", twice->second));
  }
  // An unused piece keeps its id, but no text is cut into it.
  const auto unused = [this](const auto& piece) {
    return model_.pieces[piece.second].type == Type::kUnused;
  };
  sorted_.erase(std::remove_if(sorted_.begin(), sorted_.end(), unused), sorted_.end());
  return absl::OkStatus();
}

// Offers all pieces that begin at `begin`, and the unknown one for its character unless that
// is a piece.
void SentencePieceTokenizer::ExtendPaths(absl::string_view text, size_t begin,
                                         BestPaths* paths) const {
  const size_t character_end = begin + CharacterLength(text.substr(begin));
  const float score = paths->ScoreTo(begin);
  bool character_known = false;
  auto range = std::make_pair(sorted_.begin(), sorted_.end());
  for (size_t at = begin; at < text.size(); ++at) {
    range = Narrow(range.first, range.second, at - begin, text[at]);
    if (range.first == range.second) break;
    // The shortest of them sorts first.
    if (range.first->first.size() != at + 1 - begin) continue;
    const int32_t piece = range.first->second;
    paths->Offer(begin, at + 1, piece, double{model_.pieces[piece].score} + score);
    character_known |= at + 1 == character_end;
  }
  if (!character_known) {
    paths->Offer(begin, character_end, kUnknownPiece, unknown_score_ + score);
  }
}

absl::StatusOr<std::vector<int32_t>> SentencePieceTokenizer::Encode(absl::string_view text) const {
  RETURN_IF_ERROR(CheckText(text));
  const std::string normalized = normalizer_->Normalize(text);
  BestPaths paths(normalized.size());
  for (size_t begin = 0; begin < normalized.size();) {
    ExtendPaths(normalized, begin, &paths);
    begin += CharacterLength(absl::string_view(normalized).substr(begin));
  }
  std::vector<int32_t> ids;
  for (const int32_t piece : paths.Trace()) {
    const int32_t id = piece == kUnknownPiece ? kUnknownId : piece + kShift;
    if (id != kUnknownId || ids.empty() || ids.back() != kUnknownId) ids.push_back(id);
  }
  return ids;
}

absl::string_view SentencePieceTokenizer::Spelling(int32_t id) const {
  return model_.pieces[id == kUnknownId ? kUnknownPiece : id - kShift].text;
}

}  // namespace sightline
