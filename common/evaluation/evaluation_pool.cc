#include "common/evaluation/evaluation_pool.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

constexpr int kMaxFolds = 1000;
constexpr int kMaxPools = 100'000;
constexpr int kMaxSharedWords = 1000;

// Whether an image is in a set of rows, or a caption in one of columns.
using Chosen = std::vector<bool>;

// The captions of chosen images, and those images that have one.
struct Captioned {
  std::vector<int> images;
  std::vector<int> captions;
};
Captioned CaptionedAmong(const MatrixItems& items, const Chosen& chosen) {
  Captioned found;
  Chosen has_caption(items.images.size());
  for (size_t c = 0; c < items.captions.size(); ++c) {
    const int image = items.captions[c].image;
    if (!chosen[image]) continue;
    has_caption[image] = true;
    found.captions.push_back(static_cast<int>(c));
  }
  for (size_t i = 0; i < has_caption.size(); ++i) {
    if (has_caption[i]) found.images.push_back(static_cast<int>(i));
  }
  return found;
}

EvaluationPool PoolOf(const MatrixItems& items, const Chosen& queries, const Chosen& candidates) {
  EvaluationPool pool;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i]) pool.images.push_back(static_cast<int>(i));
  }
  pool.captions = CaptionedAmong(items, candidates).captions;
  Captioned asking = CaptionedAmong(items, queries);
  pool.image_queries = std::move(asking.images);
  pool.caption_queries = std::move(asking.captions);
  return pool;
}

// Chosen captions ask for their images, and these for them: an image's other captions would be as
// right, and are no candidates.
EvaluationPool PoolOfCaptions(const MatrixItems& items, const Chosen& captions) {
  EvaluationPool pool;
  pool.images.resize(items.images.size());
  std::iota(pool.images.begin(), pool.images.end(), 0);
  Chosen asks(items.images.size());
  for (size_t c = 0; c < captions.size(); ++c) {
    if (!captions[c]) continue;
    asks[items.captions[c].image] = true;
    pool.caption_queries.push_back(static_cast<int>(c));
  }
  for (size_t c = 0; c < captions.size(); ++c) {
    if (captions[c] || !asks[items.captions[c].image]) pool.captions.push_back(static_cast<int>(c));
  }
  for (size_t i = 0; i < asks.size(); ++i) {
    if (asks[i]) pool.image_queries.push_back(static_cast<int>(i));
  }
  return pool;
}

absl::Status CheckCounts(const Protocol& protocol, const MatrixItems& items) {
  const bool images = protocol.image_count == 0 || items.images.size() == protocol.image_count;
  const bool captions =
      protocol.caption_count == 0 || items.captions.size() == protocol.caption_count;
  if (images && captions) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      protocol.name, " is about ", protocol.image_count, " images with ", protocol.caption_count,
      " captions, not ", items.images.size(), " with ", items.captions.size()));
}

// The images, or captions, that a protocol's file names.
class NamedItems {
 public:
  static NamedItems Images(const MatrixItems& items) {
    return NamedItems("image", "row", RowsById(items));
  }
  static NamedItems Captions(const MatrixItems& items) {
    std::unordered_map<std::string, int> columns;
    for (size_t c = 0; c < items.captions.size(); ++c) {
      columns.emplace(items.captions[c].id, static_cast<int>(c));
    }
    return NamedItems("caption", "column", std::move(columns));
  }

  // All of them, an id a line.
  absl::StatusOr<Chosen> List(absl::string_view text) const {
    Chosen chosen(places_.size());
    int number = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      RETURN_IF_ERROR(Add(line.substr(0, line.find('\t')), ++number, &chosen));
    }
    return chosen;
  }

  // Calls `use` with what each line names.
  absl::Status EachLine(absl::string_view text,
                        const std::function<absl::Status(int number, const Chosen&)>& use) const {
    int number = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      if (absl::StripAsciiWhitespace(line).empty()) continue;
      if (number > kMaxPools) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", number, ": there are more than ", kMaxPools, " pools"));
      }
      Chosen chosen(places_.size());
      for (const absl::string_view id : absl::StrSplit(line, '\t')) {
        RETURN_IF_ERROR(Add(id, number, &chosen));
      }
      RETURN_IF_ERROR(use(number, chosen));
    }
    return absl::OkStatus();
  }

 private:
  NamedItems(absl::string_view what, absl::string_view where,
             std::unordered_map<std::string, int> places)
      : what_(what), where_(where), places_(std::move(places)) {}

  absl::Status Add(absl::string_view id, int line, Chosen* chosen) const {
    id = absl::StripAsciiWhitespace(id);
    if (id.empty()) return absl::OkStatus();
    const std::string place = absl::StrCat("line ", line);
    if (id.size() > limits::kMaxItemIdBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": an id has ", id.size(), " bytes; the limit is ", limits::kMaxItemIdBytes));
    }
    const auto found = places_.find(std::string(id));
    const std::string named =
        absl::StrCat(place, ": ", what_, " '", EscapeUnlessPrintable(id), "'");
    if (found == places_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(named, " is no ", where_, " of the matrix"));
    }
    if ((*chosen)[found->second]) {
      return absl::InvalidArgumentError(absl::StrCat(named, " stands there twice"));
    }
    (*chosen)[found->second] = true;
    return absl::OkStatus();
  }

  const absl::string_view what_, where_;
  const std::unordered_map<std::string, int> places_;  // of all that there are
};

// Rows by their places, or, where these are not known, as they stand.
std::vector<int> PublishedOrder(const MatrixItems& items) {
  std::vector<int> rows(items.images.size());
  std::iota(rows.begin(), rows.end(), 0);
  if (items.places.empty()) return rows;
  std::sort(rows.begin(), rows.end(),
            [&items](int a, int b) { return items.places[a] < items.places[b]; });
  return rows;
}

absl::StatusOr<std::vector<EvaluationPool>> Folds(const Protocol& protocol,
                                                  const MatrixItems& items) {
  const size_t images = items.images.size();
  if (images % protocol.folds != 0) {
    return absl::InvalidArgumentError(absl::StrCat(protocol.name, ": ", images,
                                                   " images do not make ", protocol.folds,
                                                   " folds of as many each"));
  }
  const size_t size = images / protocol.folds;
  const std::vector<int> order = PublishedOrder(items);
  std::vector<EvaluationPool> pools;
  for (size_t begin = 0; begin < images; begin += size) {
    Chosen chosen(images);
    for (size_t i = begin; i < begin + size; ++i) chosen[order[i]] = true;
    pools.push_back(PoolOf(items, chosen, chosen));
  }
  return pools;
}

absl::StatusOr<Chosen> CaptionsThatShare(int words, const MatrixItems& items) {
  Chosen chosen(items.captions.size());
  bool counted = false;
  for (size_t c = 0; c < chosen.size(); ++c) {
    const absl::optional<int>& shared = items.captions[c].shared_words;
    counted = counted || shared.has_value();
    chosen[c] = shared == words;
  }
  if (counted) return chosen;
  return absl::InvalidArgumentError(
      "no caption says how many \"shared_words\" it has with the text in its image; evaluator "
      "scores writes that for corpora with OCR tokens");
}

absl::Status CheckNotEmpty(absl::string_view what, const EvaluationPool& pool) {
  if (!pool.caption_queries.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": no caption is left to ask with"));
}

}  // namespace

absl::StatusOr<Protocol> ParseProtocol(const std::string& name) {
  Protocol protocol;
  protocol.name = name;
  absl::string_view rest = name;
  if (name == "whole") return protocol;
  if (name == "coco_5k" || name == "coco_1k_folds") {
    protocol.image_count = 5000;
    protocol.caption_count = 25'000;
    if (name == "coco_5k") return protocol;
    protocol.kind = PoolKind::kFolds;
    protocol.folds = 5;
    return protocol;
  }
  if (name == "flickr_1k") {
    protocol.image_count = 1000;
    protocol.caption_count = 5000;
    return protocol;
  }
  if (absl::ConsumePrefix(&rest, "folds:")) {
    protocol.kind = PoolKind::kFolds;
    if (absl::SimpleAtoi(rest, &protocol.folds) && protocol.folds >= 1 &&
        protocol.folds <= kMaxFolds) {
      return protocol;
    }
  }
  if (absl::ConsumePrefix(&rest, "shared_words:")) {
    protocol.kind = PoolKind::kSharedWords;
    if (absl::SimpleAtoi(rest, &protocol.shared_words) && protocol.shared_words >= 0 &&
        protocol.shared_words <= kMaxSharedWords) {
      return protocol;
    }
  }
  constexpr std::pair<absl::string_view, PoolKind> kOfFiles[] = {
      {"list:", PoolKind::kList},
      {"distractors:", PoolKind::kDistractors},
      {"captions:", PoolKind::kCaptions},
      {"pools:", PoolKind::kPools}};
  for (const auto& [prefix, kind] : kOfFiles) {
    if (!absl::ConsumePrefix(&rest, prefix) || rest.empty()) continue;
    protocol.kind = kind;
    protocol.file = std::string(rest);
    return protocol;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' is none of whole, coco_5k, flickr_1k, coco_1k_folds, folds:N (1 to ", kMaxFolds,
      "), list:FILE, distractors:FILE, captions:FILE, shared_words:N (0 to ", kMaxSharedWords,
      ") and pools:FILE"));
}

absl::StatusOr<std::vector<EvaluationPool>> MakePools(const Protocol& protocol,
                                                      const MatrixItems& items,
                                                      absl::string_view text) {
  RETURN_IF_ERROR(CheckCounts(protocol, items));
  std::vector<EvaluationPool> pools;
  const Chosen all(items.images.size(), true);
  switch (protocol.kind) {
    case PoolKind::kWhole:
      pools.push_back(PoolOf(items, all, all));
      break;
    case PoolKind::kFolds: {
      ASSIGN_OR_RETURN(pools, Folds(protocol, items));
      break;
    }
    case PoolKind::kList:
    case PoolKind::kDistractors: {
      ASSIGN_OR_RETURN(const Chosen listed, NamedItems::Images(items).List(text));
      pools.push_back(
          PoolOf(items, listed, protocol.kind == PoolKind::kDistractors ? all : listed));
      break;
    }
    case PoolKind::kCaptions: {
      ASSIGN_OR_RETURN(const Chosen listed, NamedItems::Captions(items).List(text));
      pools.push_back(PoolOfCaptions(items, listed));
      break;
    }
    case PoolKind::kSharedWords: {
      ASSIGN_OR_RETURN(const Chosen sharing, CaptionsThatShare(protocol.shared_words, items));
      pools.push_back(PoolOfCaptions(items, sharing));
      break;
    }
    case PoolKind::kPools: {
      RETURN_IF_ERROR(NamedItems::Images(items).EachLine(
          text, [&](int number, const Chosen& chosen) -> absl::Status {
            pools.push_back(PoolOf(items, chosen, chosen));
            return CheckNotEmpty(absl::StrCat(protocol.name, ", line ", number), pools.back());
          }));
      break;
    }
  }
  if (pools.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(protocol.name, " names no image"));
  }
  for (const EvaluationPool& pool : pools) RETURN_IF_ERROR(CheckNotEmpty(protocol.name, pool));
  return pools;
}

absl::StatusOr<std::vector<EvaluationPool>> ReadPools(const Protocol& protocol,
                                                      const MatrixItems& items) {
  if (protocol.file.empty()) return MakePools(protocol, items, "");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(protocol.file));
  return Within(protocol.file, MakePools(protocol, items, text));
}

std::string PoolsNote(const Protocol& protocol, const MatrixItems& items) {
  if (protocol.kind != PoolKind::kFolds || !items.places.empty()) return "";
  return absl::StrCat(protocol.name,
                      ": no \"place\" of images is known, so that folds go by the order of rows; "
                      "they are a paper's if that is the published order\n");
}

absl::StatusOr<EvaluationPool> InLanguage(const EvaluationPool& pool, const MatrixItems& items,
                                          absl::string_view language) {
  const auto only = [&](const std::vector<int>& captions) {
    std::vector<int> kept;
    for (const int caption : captions) {
      if (items.captions[caption].language == language) kept.push_back(caption);
    }
    return kept;
  };
  EvaluationPool own;
  own.images = pool.images;
  own.captions = only(pool.captions);
  own.caption_queries = only(pool.caption_queries);
  Chosen asks(items.images.size());
  for (const int caption : own.caption_queries) asks[items.captions[caption].image] = true;
  for (const int image : pool.image_queries) {
    if (asks[image]) own.image_queries.push_back(image);
  }
  RETURN_IF_ERROR(CheckNotEmpty(absl::StrCat("language '", language, "'"), own));
  return own;
}

}  // namespace sightline
