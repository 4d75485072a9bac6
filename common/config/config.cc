#include "common/config/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/config/config_document.h"
#include "common/config/nearest_name.h"

namespace sightline {
namespace {

using config_internal::Document;
using config_internal::KindName;
using config_internal::Node;
using config_internal::Position;
using config_internal::Problem;

constexpr size_t kMaxProblemsShown = 100;

// A value as it is shown in a message: one line, of bounded length.
std::string Shown(absl::string_view value) {
  std::string line = CleanText(value, 80);
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return absl::StrCat("\"", line, "\"");
}

std::string OutOfRange(absl::string_view value, absl::string_view min, absl::string_view max) {
  return absl::StrCat(value, " is out of range; allowed is ", min, " to ", max);
}

struct ByteUnit {
  absl::string_view name;
  int64_t bytes;
};

// Longest first, and bare bytes last.
constexpr ByteUnit kByteUnits[] = {
    {"TiB", int64_t{1} << 40},
    {"GiB", int64_t{1} << 30},
    {"MiB", int64_t{1} << 20},
    {"KiB", int64_t{1} << 10},
    {"B", 1},
};

constexpr absl::string_view kInt = "a whole number,", kDouble = "a number,";

bool ParseInt(const std::string& text, int64_t* value) {
  return absl::SimpleAtoi(text, value);
}

bool ParseDouble(const std::string& text, double* value) {
  return absl::SimpleAtod(text, value) && std::isfinite(*value);
}

template <typename T>
std::string FormatNumber(T value) {
  return absl::StrCat(value);
}

bool ParseFiniteDuration(const std::string& text, absl::Duration* value) {
  return absl::ParseDuration(text, value) && absl::AbsDuration(*value) < absl::InfiniteDuration();
}

bool ParseBytes(const std::string& written, int64_t* bytes) {
  absl::string_view text = written;
  int64_t unit = 1;
  for (const ByteUnit& candidate : kByteUnits) {
    if (absl::EndsWith(text, candidate.name)) {
      text.remove_suffix(candidate.name.size());
      unit = candidate.bytes;
      break;
    }
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count)) return false;
  if (count > std::numeric_limits<int64_t>::max() / unit ||
      count < std::numeric_limits<int64_t>::min() / unit) {
    return false;
  }
  *bytes = count * unit;
  return true;
}

std::string FormatBytes(int64_t bytes) {
  for (const ByteUnit& unit : kByteUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return absl::StrCat(bytes / unit.bytes, unit.name);
  }
  return "0";
}

std::string DottedPath(absl::string_view parent, absl::string_view name) {
  return parent.empty() ? std::string(name) : absl::StrCat(parent, ".", name);
}

// Notes the keys below `node` that nobody asked for.  The depth is that of the file,
// which is bounded.
void NoteUnknownKeys(const Node& node, const std::string& path, std::vector<Problem>* problems) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    NoteUnknownKeys(*node.items[i], absl::StrCat(path, "[", i, "]"), problems);
  }
  if (!node.opened) return;
  for (const Node::Entry& entry : node.entries) {
    const std::string entry_path = DottedPath(path, CleanText(entry.key, 80));
    if (entry.known) {
      NoteUnknownKeys(*entry.value, entry_path, problems);
      continue;
    }
    std::string text = absl::StrCat(entry_path, ": unknown key");
    const std::string nearest = NearestName(entry.key, node.asked);
    if (!nearest.empty()) absl::StrAppend(&text, "; did you mean ", nearest, "?");
    problems->push_back({entry.position, std::move(text)});
  }
}

}  // namespace

// ---- ConfigReader: finding ----

std::string ConfigReader::PathOf(absl::string_view name) const {
  return DottedPath(path_, name);
}

void ConfigReader::Note(const Node& at, absl::string_view path, absl::string_view problem) {
  document_->problems.push_back({at.position, absl::StrCat(path, ": ", problem)});
}

void ConfigReader::AddProblem(absl::string_view name, absl::string_view problem) {
  const Node* const node = Find(name);
  Note(node == nullptr ? *node_ : *node, PathOf(name), problem);
}

bool ConfigReader::Has(absl::string_view name) const {
  return std::any_of(node_->entries.begin(), node_->entries.end(),
                     [&](const Node::Entry& entry) { return entry.key == name; });
}

// The value of `name`, or null if it is absent.
Node* ConfigReader::Find(absl::string_view name) {
  for (Node::Entry& entry : node_->entries) {
    if (entry.key != name) continue;
    entry.known = true;
    return entry.value.get();
  }
  if (std::find(node_->asked.begin(), node_->asked.end(), name) == node_->asked.end()) {
    node_->asked.emplace_back(name);
  }
  return nullptr;
}

const std::string* ConfigReader::Scalar(absl::string_view name, bool required) {
  const Node* const node = Find(name);
  if (node == nullptr) {
    if (required && !node_->silent) Note(*node_, PathOf(name), "is missing and has no default");
    return nullptr;
  }
  if (node->kind == Node::Kind::kScalar) return &node->scalar;
  Note(*node, PathOf(name),
       node->kind == Node::Kind::kNull
           ? "has no value; give one or remove the key"
           : absl::StrCat("wants a single value, has ", KindName(node->kind)));
  return nullptr;
}

std::vector<Node*> ConfigReader::List(absl::string_view name, int64_t min_count,
                                      int64_t max_count) {
  std::vector<Node*> items;
  Node* const node = Find(name);
  if (node != nullptr && node->kind != Node::Kind::kList && node->kind != Node::Kind::kNull) {
    Note(*node, PathOf(name), absl::StrCat("wants a list, has ", KindName(node->kind)));
    return items;
  }
  if (node != nullptr) {
    for (const auto& item : node->items) items.push_back(item.get());
  }
  const int64_t count = static_cast<int64_t>(items.size());
  if ((count < min_count && !node_->silent) || count > max_count) {
    Note(node == nullptr ? *node_ : *node, PathOf(name),
         absl::StrCat("has ", count, " entries; allowed is ", min_count, " to ", max_count));
  }
  if (count > max_count) items.resize(max_count);
  return items;
}

// ---- ConfigReader: scalars ----

template <typename T>
T ConfigReader::ReadRanged(absl::string_view name, bool required, T otherwise, T min, T max,
                           bool (*parse)(const std::string& text, T* value),
                           absl::string_view wanted, std::string (*format)(T value)) {
  const std::string* const text = Scalar(name, required);
  if (text == nullptr) return otherwise;
  T value = T();
  if (!parse(*text, &value)) {
    Note(*Find(name), PathOf(name), absl::StrCat("wants ", wanted, " has ", Shown(*text)));
    return otherwise;
  }
  if (value < min || value > max) {
    Note(*Find(name), PathOf(name), OutOfRange(*text, format(min), format(max)));
    return otherwise;
  }
  return value;
}

int64_t ConfigReader::Int(absl::string_view name, int64_t otherwise, int64_t min, int64_t max) {
  return ReadRanged(name, /*required=*/false, otherwise, min, max, ParseInt, kInt, FormatNumber);
}

int64_t ConfigReader::RequiredInt(absl::string_view name, int64_t min, int64_t max) {
  return ReadRanged(name, /*required=*/true, std::clamp<int64_t>(0, min, max), min, max, ParseInt,
                    kInt, FormatNumber);
}

double ConfigReader::Double(absl::string_view name, double otherwise, double min, double max) {
  return ReadRanged(name, /*required=*/false, otherwise, min, max, ParseDouble, kDouble,
                    FormatNumber);
}

double ConfigReader::RequiredDouble(absl::string_view name, double min, double max) {
  return ReadRanged(name, /*required=*/true, std::clamp(0.0, min, max), min, max, ParseDouble,
                    kDouble, FormatNumber);
}

absl::Duration ConfigReader::Duration(absl::string_view name, absl::Duration otherwise,
                                      absl::Duration min, absl::Duration max) {
  return ReadRanged(name, /*required=*/false, otherwise, min, max, ParseFiniteDuration,
                    "a number and a unit, like 300ms, 2s or 1m30s;", absl::FormatDuration);
}

int64_t ConfigReader::Bytes(absl::string_view name, int64_t otherwise, int64_t min, int64_t max) {
  return ReadRanged(name, /*required=*/false, otherwise, min, max, ParseBytes,
                    "a whole number of B, KiB, MiB, GiB or TiB, like 16MiB;", FormatBytes);
}

bool ConfigReader::Bool(absl::string_view name, bool otherwise) {
  const std::string* const text = Scalar(name, /*required=*/false);
  if (text == nullptr) return otherwise;
  if (*text == "true") return true;
  if (*text == "false") return false;
  Note(*Find(name), PathOf(name), absl::StrCat("wants true or false, has ", Shown(*text)));
  return otherwise;
}

std::string ConfigReader::String(absl::string_view name, absl::string_view otherwise) {
  const std::string* const text = Scalar(name, /*required=*/false);
  return text == nullptr ? std::string(otherwise) : *text;
}

std::string ConfigReader::RequiredString(absl::string_view name) {
  const std::string* const text = Scalar(name, /*required=*/true);
  if (text == nullptr) return "";
  if (text->empty()) Note(*Find(name), PathOf(name), "must not be empty");
  return *text;
}

std::string ConfigReader::Choice(absl::string_view name, absl::string_view otherwise,
                                 const std::vector<std::string>& allowed) {
  const std::string* const text = Scalar(name, /*required=*/false);
  if (text == nullptr) return std::string(otherwise);
  if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  Note(*Find(name), PathOf(name),
       absl::StrCat("wants one of ", absl::StrJoin(allowed, ", "), "; has ", Shown(*text)));
  return std::string(otherwise);
}

// ---- ConfigReader: lists and sections ----

std::vector<std::string> ConfigReader::StringList(absl::string_view name, int64_t min_count,
                                                  int64_t max_count) {
  std::vector<std::string> strings;
  const std::vector<Node*> items = List(name, min_count, max_count);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string path = absl::StrCat(PathOf(name), "[", i, "]");
    if (items[i]->kind != Node::Kind::kScalar) {
      Note(*items[i], path, absl::StrCat("wants a single value, has ", KindName(items[i]->kind)));
    } else if (items[i]->scalar.empty()) {
      Note(*items[i], path, "must not be empty");
    } else {
      strings.push_back(items[i]->scalar);
    }
  }
  return strings;
}

ConfigReader ConfigReader::Open(Node* node, const Node& parent, std::string path) {
  if (node != nullptr && node->kind == Node::Kind::kMap) {
    node->opened = true;
    return ConfigReader(document_, node, std::move(path));
  }
  Node absent;
  absent.kind = Node::Kind::kMap;
  absent.position = node == nullptr ? parent.position : node->position;
  absent.silent = parent.silent;
  if (node != nullptr && node->kind != Node::Kind::kNull) {
    Note(*node, path, absl::StrCat("wants a map (name: value), has ", KindName(node->kind)));
    absent.silent = true;
  }
  document_->absent.push_back(std::move(absent));
  return ConfigReader(document_, &document_->absent.back(), std::move(path));
}

ConfigReader ConfigReader::Section(absl::string_view name) {
  return Open(Find(name), *node_, PathOf(name));
}

std::vector<ConfigReader> ConfigReader::Sections(absl::string_view name, int64_t min_count,
                                                 int64_t max_count) {
  std::vector<ConfigReader> sections;
  const std::vector<Node*> items = List(name, min_count, max_count);
  for (size_t i = 0; i < items.size(); ++i) {
    sections.push_back(Open(items[i], *node_, absl::StrCat(PathOf(name), "[", i, "]")));
  }
  return sections;
}

std::vector<std::pair<std::string, ConfigReader>> ConfigReader::NamedSections(
    absl::string_view name, int64_t min_count, int64_t max_count) {
  ConfigReader map = Section(name);
  std::vector<std::pair<std::string, ConfigReader>> sections;
  for (Node::Entry& entry : map.node_->entries) {
    entry.known = true;
    if (static_cast<int64_t>(sections.size()) < max_count) {
      sections.emplace_back(entry.key, Open(entry.value.get(), *map.node_, map.PathOf(entry.key)));
    }
  }
  const int64_t count = static_cast<int64_t>(map.node_->entries.size());
  if ((count < min_count && !map.node_->silent) || count > max_count) {
    Note(*map.node_, map.path(),
         absl::StrCat("has ", count, " entries; allowed is ", min_count, " to ", max_count));
  }
  return sections;
}

// ---- ConfigFile ----

ConfigFile::ConfigFile(std::unique_ptr<Document> document) : document_(std::move(document)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile& ConfigFile::operator=(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

absl::StatusOr<ConfigFile> ConfigFile::Parse(absl::string_view text,
                                             absl::string_view source_name) {
  ASSIGN_OR_RETURN(std::unique_ptr<Document> document,
                   config_internal::ParseDocument(text, source_name));
  return ConfigFile(std::move(document));
}

absl::StatusOr<ConfigFile> ConfigFile::Load(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  return Parse(text, path);
}

ConfigReader ConfigFile::root() {
  document_->root->opened = true;
  return ConfigReader(document_.get(), document_->root.get(), "");
}

absl::Status ConfigFile::status() const {
  if (document_->problems.empty()) return absl::OkStatus();
  std::vector<Problem> problems = document_->problems;
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::make_pair(a.position.line, a.position.column) <
           std::make_pair(b.position.line, b.position.column);
  });
  std::vector<std::string> lines;
  for (const Problem& problem : problems) {
    std::string line = absl::StrCat(document_->source_name, ":", problem.position.line, ":",
                                    problem.position.column, ": ", problem.text);
    // A value that was read twice is one problem.
    if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
  }
  if (lines.size() > kMaxProblemsShown) {
    const size_t more = lines.size() - kMaxProblemsShown;
    lines.resize(kMaxProblemsShown);
    lines.push_back(absl::StrCat(document_->source_name, ": and ", more, " more problems"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

absl::Status ConfigFile::Finish() {
  NoteUnknownKeys(*document_->root, "", &document_->problems);
  return status();
}

}  // namespace sightline
