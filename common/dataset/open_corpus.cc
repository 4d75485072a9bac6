#include "common/dataset/open_corpus.h"

#include "absl/strings/str_cat.h"
#include "common/dataset/clipart_reader.h"
#include "common/dataset/emoji_reader.h"
#include "common/dataset/folder_reader.h"
#include "common/dataset/stamps_reader.h"

namespace sightline {
namespace {

constexpr CorpusKind kKinds[] = {CorpusKind::kFolder, CorpusKind::kStamps, CorpusKind::kClipArt,
                                 CorpusKind::kEmoji};

void SetUnlessEmpty(const std::string& value, std::string& target) {
  if (!value.empty()) target = value;
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenFolder(const CorpusSpec& spec) {
  if (spec.root.empty()) {
    return absl::InvalidArgumentError("a corpus of kind folder needs a root: the folder's path");
  }
  FolderOptions options;
  options.root = spec.root;
  options.captions_file = spec.annotations;
  options.id_prefix = spec.id_prefix;
  options.languages = spec.languages;
  return NewFolderReader(options);
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenClipArt(const CorpusSpec& spec) {
  ClipArtOptions options;
  SetUnlessEmpty(spec.root, options.png_root);
  SetUnlessEmpty(spec.annotations, options.svg_root);
  options.languages = spec.languages;
  return NewClipArtReader(options);
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenEmoji(const CorpusSpec& spec) {
  EmojiOptions options;
  SetUnlessEmpty(spec.root, options.font);
  SetUnlessEmpty(spec.annotations, options.annotations);
  options.languages = spec.languages;
  return NewEmojiReader(options);
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenStamps(const CorpusSpec& spec) {
  StampsOptions options;
  SetUnlessEmpty(spec.root, options.root);
  options.languages = spec.languages;
  return NewStampsReader(options);
}

}  // namespace

absl::string_view CorpusKindName(CorpusKind kind) {
  switch (kind) {
    case CorpusKind::kFolder:
      return "folder";
    case CorpusKind::kStamps:
      return "stamps";
    case CorpusKind::kClipArt:
      return "clipart";
    case CorpusKind::kEmoji:
      return "emoji";
  }
  return "unknown";
}

absl::StatusOr<CorpusKind> ParseCorpusKind(absl::string_view name) {
  for (const CorpusKind kind : kKinds) {
    if (CorpusKindName(kind) == name) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown corpus kind \"", name, "\"; known: folder, stamps, clipart, emoji"));
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenCorpus(const CorpusSpec& spec) {
  if (spec.kind != CorpusKind::kFolder && !spec.id_prefix.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("a corpus of kind ", CorpusKindName(spec.kind),
                                                   " has ids of its own and takes no prefix"));
  }
  switch (spec.kind) {
    case CorpusKind::kFolder:
      return OpenFolder(spec);
    case CorpusKind::kStamps:
      return OpenStamps(spec);
    case CorpusKind::kClipArt:
      return OpenClipArt(spec);
    case CorpusKind::kEmoji:
      return OpenEmoji(spec);
  }
  return absl::InvalidArgumentError("unknown corpus kind");
}

}  // namespace sightline
