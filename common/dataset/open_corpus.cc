#include "common/dataset/open_corpus.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/dataset/clipart_reader.h"
#include "common/dataset/emoji_reader.h"
#include "common/dataset/folder_reader.h"
#include "common/dataset/npz_reader.h"
#include "common/dataset/precomp_reader.h"
#include "common/dataset/published_reader.h"
#include "common/dataset/region_file_reader.h"
#include "common/dataset/stamps_reader.h"

namespace sightline {
namespace {

constexpr std::pair<CorpusKind, absl::string_view> kKinds[] = {
    {CorpusKind::kFolder, "folder"},     {CorpusKind::kStamps, "stamps"},
    {CorpusKind::kClipArt, "clipart"},   {CorpusKind::kEmoji, "emoji"},
    {CorpusKind::kRegions, "regions"},   {CorpusKind::kNpz, "npz"},
    {CorpusKind::kPrecomp, "precomp"},   {CorpusKind::kKarpathy, "karpathy"},
    {CorpusKind::kCoco, "coco"},         {CorpusKind::kFlickr, "flickr"},
    {CorpusKind::kMulti30k, "multi30k"}, {CorpusKind::kTextCaps, "textcaps"},
};

constexpr std::pair<CorpusKind, PublishedForm> kForms[] = {
    {CorpusKind::kKarpathy, PublishedForm::kKarpathy},
    {CorpusKind::kCoco, PublishedForm::kCoco},
    {CorpusKind::kFlickr, PublishedForm::kFlickr},
    {CorpusKind::kMulti30k, PublishedForm::kMulti30k},
    {CorpusKind::kTextCaps, PublishedForm::kTextCaps},
};

constexpr absl::string_view kPublishedKeys[] = {
    "images",  "ocr",       "caption_language", "splits", "captions_per_picture",
    "regions", "region_id", "id_prefix"};

// The text at one of kPublishedKeys, where it is no more than that; null for other keys.
std::string* TextOfKey(absl::string_view key, CorpusSpec& spec) {
  PublishedSpec& published = spec.published;
  if (key == "images") return &published.images;
  if (key == "ocr") return &published.ocr;
  if (key == "caption_language") return &published.caption_language;
  if (key == "regions") return &published.regions;
  if (key == "region_id") return &published.region_id;
  if (key == "id_prefix") return &spec.id_prefix;
  return nullptr;
}

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

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenPublished(const CorpusSpec& spec,
                                                            PublishedForm form) {
  PublishedOptions options;
  options.form = form;
  options.path = spec.root;
  options.images = spec.published.images;
  options.ocr = spec.published.ocr;
  options.caption_language = spec.published.caption_language;
  options.splits = spec.published.splits;
  options.captions_per_picture = spec.published.captions_per_picture;
  options.region_id = spec.published.region_id;
  options.id_prefix = spec.id_prefix;
  options.languages = spec.languages;
  std::unique_ptr<CorpusReader> regions;
  if (!spec.published.regions.empty()) {
    ASSIGN_OR_RETURN(const CorpusSpec regions_spec, ParseCorpus(spec.published.regions));
    if (IsPublished(regions_spec.kind)) {
      return absl::InvalidArgumentError(
          "regions are themselves a published set; give what lies below it");
    }
    ASSIGN_OR_RETURN(regions, OpenCorpus(regions_spec));
  }
  return NewPublishedReader(options, std::move(regions));
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
  const bool is_path = absl::StrContains(name, '.') || absl::StrContains(name, '/');
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown corpus kind \"", name, "\"; known: ", absl::StrJoin(CorpusKindNames(), ", "),
      is_path ? absl::StrCat("; a path stands behind its kind, as regions:", name) : ""));
}

std::vector<std::string> CorpusKindNames() {
  std::vector<std::string> names;
  for (const auto& kind : kKinds) names.emplace_back(kind.second);
  return names;
}

bool IsPublished(CorpusKind kind) {
  return std::any_of(std::begin(kForms), std::end(kForms),
                     [kind](const auto& form) { return form.first == kind; });
}

absl::Span<const absl::string_view> PublishedKeys() {
  return kPublishedKeys;
}

absl::Status SetPublished(absl::string_view key, absl::string_view value, CorpusSpec& spec) {
  if (std::string* const text = TextOfKey(key, spec)) {
    *text = std::string(value);
    return absl::OkStatus();
  }
  if (key == "splits") {
    spec.published.splits = absl::StrSplit(value, '+', absl::SkipEmpty());
    return absl::OkStatus();
  }
  if (key != "captions_per_picture") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown key \"", key, "\"; known: ", absl::StrJoin(kPublishedKeys, ", ")));
  }
  int& most = spec.published.captions_per_picture;
  if (absl::SimpleAtoi(value, &most) && most >= 0 && most <= kMaxCaptionsPerItem) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "captions_per_picture is \"", value, "\"; wanted 0, for all, to ", kMaxCaptionsPerItem));
}

absl::StatusOr<CorpusSpec> ParseCorpus(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  CorpusSpec spec;
  ASSIGN_OR_RETURN(spec.kind, ParseCorpusKind(parts.first));
  spec.root = std::string(parts.second);
  if (!IsPublished(spec.kind)) return spec;
  const std::vector<absl::string_view> settings = absl::StrSplit(parts.second, ',');
  spec.root = std::string(settings[0]);
  for (size_t i = 1; i < settings.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> setting =
        absl::StrSplit(settings[i], absl::MaxSplits('=', 1));
    RETURN_IF_ERROR(SetPublished(setting.first, setting.second, spec));
  }
  return spec;
}

absl::StatusOr<std::vector<CorpusSpec>> ParseCorpora(absl::string_view text) {
  std::vector<std::string> corpora;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    // "splits=test" belongs to what stands before it; "folder:a=b" does not.
    const size_t mark = part.find_first_of(":=");
    if (!corpora.empty() && mark != absl::string_view::npos && part[mark] == '=') {
      absl::StrAppend(&corpora.back(), ",", part);
    } else {
      corpora.emplace_back(part);
    }
  }
  std::vector<CorpusSpec> specs;
  for (const std::string& corpus : corpora) {
    ASSIGN_OR_RETURN(CorpusSpec spec, ParseCorpus(corpus));
    specs.push_back(std::move(spec));
  }
  return specs;
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
  for (const auto& [kind, form] : kForms) {
    if (kind == spec.kind) return OpenPublished(spec, form);
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
    case CorpusKind::kKarpathy:
    case CorpusKind::kCoco:
    case CorpusKind::kFlickr:
    case CorpusKind::kMulti30k:
    case CorpusKind::kTextCaps:
      break;  // above
  }
  return absl::InvalidArgumentError("unknown corpus kind");
}

}  // namespace sightline
