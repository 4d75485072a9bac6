#include "services/trainer/item_names.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sightline {
namespace {

// Letters, digits, and whatever UTF-8 has beyond ASCII.
bool IsWordByte(char c) {
  return absl::ascii_isalnum(c) || static_cast<unsigned char>(c) >= 0x80;
}

// Appends "Matieres" and "Explosives" of "MatieresExplosives".
void SplitAtRisingCase(absl::string_view run, std::vector<absl::string_view>* parts) {
  size_t begin = 0;
  for (size_t i = 1; i < run.size(); ++i) {
    if (absl::ascii_isupper(run[i]) && absl::ascii_islower(run[i - 1])) {
      parts->push_back(run.substr(begin, i - begin));
      begin = i;
    }
  }
  parts->push_back(run.substr(begin));
}

// "tigre01" is a tigre; "70a018" is a number.
absl::string_view WithoutTrailingDigits(absl::string_view word) {
  while (!word.empty() && absl::ascii_isdigit(word.back())) word.remove_suffix(1);
  return word;
}

void AppendWords(absl::string_view part, std::vector<std::string>* words) {
  size_t begin = 0;
  while (begin < part.size()) {
    size_t end = begin;
    while (end < part.size() && IsWordByte(part[end])) ++end;
    std::vector<absl::string_view> parts;
    if (end > begin) SplitAtRisingCase(part.substr(begin, end - begin), &parts);
    for (const absl::string_view candidate : parts) {
      const absl::string_view word = WithoutTrailingDigits(candidate);
      if (word.size() < 2 || word.find_first_of("0123456789") != absl::string_view::npos) continue;
      words->push_back(absl::AsciiStrToLower(word));
    }
    begin = end + 1;
  }
}

}  // namespace

std::vector<std::string> ItemNames::CaptionsOf(absl::string_view item_id) {
  const std::vector<absl::string_view> parts = absl::StrSplit(item_id, '/');
  std::vector<std::string> folders, name;
  for (size_t i = 1; i + 1 < parts.size(); ++i) AppendWords(parts[i], &folders);
  AppendWords(parts.back(), &name);

  const std::string in_folders = absl::StrJoin(folders, " ");
  std::vector<std::string> captions;
  if (!name.empty()) captions.push_back(absl::StrJoin(name, " "));
  if (!folders.empty()) {
    captions.push_back(name.empty() ? in_folders : absl::StrCat(in_folders, " ", captions[0]));
  }
  if (!captions.empty() && ++uses_[captions[0]] > kMostOfAName) captions.clear();
  return captions;
}

}  // namespace sightline
