#include "common/dataset/open_corpus.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/dataset/clipart_reader.h"
#include "common/dataset/emoji_reader.h"
#include "common/dataset/folder_reader.h"
#include "common/dataset/npz_reader.h"
#include "common/dataset/precomp_reader.h"
#include "common/dataset/region_file_reader.h"
#include "common/dataset/stamps_reader.h"

namespace sightline {
namespace {

constexpr std::pair<CorpusKind, absl::string_view> kKinds[] = {
    {CorpusKind::kFolder, "folder"},   {CorpusKind::kStamps, "stamps"},
    {CorpusKind::kClipArt, "clipart"}, {CorpusKind::kEmoji, "emoji"},
    {CorpusKind::kRegions, "regions"}, {CorpusKind::kNpz, "npz"},
    {CorpusKind::kPrecomp, "precomp"},
};

// Whether where it lies, and what its ids are, is the user's to say.
bool IsUsersOwn(CorpusKind kind) {
  return kind != CorpusKind::kStamps && kind != CorpusKind::kClipArt && kind != CorpusKind::kEmoji;
}

void SetUnlessEmpty(const std::string& value, std::string& target) {
  if (!value.empty()) target = value;
}

FolderOptions FolderOf(const CorpusSpec& spec) {
  FolderOptions options;
  options.root = spec.root;
  options.captions_file = spec.annotations;
  options.id_prefix = spec.id_prefix;
  options.languages = spec.languages;
  return options;
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
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

absl::StatusOr<CorpusKind> ParseCorpusKind(absl::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown corpus kind \"", name,
      "\"; known: ", absl::StrJoin(kKinds, ", ", [](std::string* out, const auto& kind) {
        absl::StrAppend(out, kind.second);
      })));
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenCorpus(const CorpusSpec& spec) {
  if (IsUsersOwn(spec.kind) && spec.root.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a corpus of kind ", CorpusKindName(spec.kind), " needs a root: its path"));
  }
  if (!IsUsersOwn(spec.kind) && !spec.id_prefix.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("a corpus of kind ", CorpusKindName(spec.kind),
                                                   " has ids of its own and takes no prefix"));
  }
  switch (spec.kind) {
    case CorpusKind::kFolder:
      return NewFolderReader(FolderOf(spec));
    case CorpusKind::kStamps:
      return OpenStamps(spec);
    case CorpusKind::kClipArt:
      return OpenClipArt(spec);
    case CorpusKind::kEmoji:
      return OpenEmoji(spec);
    case CorpusKind::kRegions:
      return NewRegionFileReader({spec.root, spec.id_prefix, spec.languages});
    case CorpusKind::kNpz:
      return NewNpzReader(FolderOf(spec));
    case CorpusKind::kPrecomp:
      return NewPrecompReader({spec.root, spec.id_prefix, spec.languages});
  }
  return absl::InvalidArgumentError("unknown corpus kind");
}

}  // namespace sightline
