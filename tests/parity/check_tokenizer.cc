// Compares a tokenizer with what a reference implementation made of the same texts.
//
//   check_tokenizer --kind KIND --vocab FILE[.gz] [--lower] CASES.jsonl
//
// KIND is one of ParseTokenizerKind (make_tokenizer.h).  One JSON object a line: text, ids, and
// tokens or none.  Prints the first few differences, then `mismatches: N of M`.  Exit code 0 if N
// is 0 and M is not, 1 if not, 2 if the tokenizer or the file could not be had at all.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/make_tokenizer.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, kind, "",
          "the kind of tokenizer: wordpiece, clip_bpe, sentencepiece or word_list");
ABSL_FLAG(std::string, vocab, "", "its vocabulary; may be gzipped");
ABSL_FLAG(bool, lower, false, "lower-case and strip accents (uncased vocabularies)");

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr int kMismatchesShown = 5;

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(absl::string_view kind_name,
                                                         const std::string& vocabulary_path) {
  ASSIGN_OR_RETURN(const TokenizerKind kind, ParseTokenizerKind(kind_name));
  if (vocabulary_path.empty()) return absl::InvalidArgumentError("--vocab FILE is needed");
  ASSIGN_OR_RETURN(const std::string vocabulary, ReadFile(vocabulary_path));
  return MakeTokenizer(kind, vocabulary, absl::GetFlag(FLAGS_lower));
}

// Of anything, bytes that are not UTF-8 included.
std::string Printed(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// What differs; empty if nothing does.
std::string CompareCase(const Tokenizer& tokenizer, const std::string& line) {
  const Json expected = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!expected.is_object()) return "is not a JSON object";
  const auto text = expected.find("text");
  if (text == expected.end() || !text->is_string()) return "has no string \"text\"";
  const auto expected_ids = expected.find("ids");
  if (expected_ids == expected.end() || !expected_ids->is_array()) return "has no array \"ids\"";

  const std::string& input = text->get_ref<const std::string&>();
  const auto encoded = tokenizer.Encode(input);
  if (!encoded.ok()) return absl::StrCat("fails: ", encoded.status().ToString());

  Json spellings = Json::array();
  for (const int32_t id : *encoded) spellings.push_back(std::string(tokenizer.Spelling(id)));
  const Json ids = *encoded;
  const Json expected_spellings = expected.value("tokens", spellings);
  if (spellings == expected_spellings && ids == *expected_ids) return "";
  return absl::StrCat("text     ", Printed(*text), "\n  expected ", Printed(expected_spellings),
                      " ", Printed(*expected_ids), "\n  got      ", Printed(spellings), " ",
                      Printed(ids));
}

// The exit code.
int CheckCases(const Tokenizer& tokenizer, const std::string& path) {
  std::ifstream cases(path);
  if (!cases) {
    std::cerr << "cannot open " << path << std::endl;
    return 2;
  }
  int64_t compared = 0;
  int64_t mismatches = 0;
  int64_t line_number = 0;
  for (std::string line; std::getline(cases, line);) {
    ++line_number;
    if (line.empty()) continue;
    ++compared;
    const std::string difference = CompareCase(tokenizer, line);
    if (difference.empty()) continue;
    if (++mismatches <= kMismatchesShown) {
      std::cout << path << ":" << line_number << ": " << difference << "\n";
    }
  }
  std::cout << "mismatches: " << mismatches << " of " << compared << std::endl;
  return mismatches == 0 && compared > 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  absl::SetProgramUsageMessage("--kind KIND --vocab FILE[.gz] [--lower] CASES.jsonl");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (arguments.size() != 2) {
    std::cerr << "one CASES.jsonl is needed, not " << arguments.size() - 1 << std::endl;
    return 2;
  }
  const auto tokenizer = LoadTokenizer(absl::GetFlag(FLAGS_kind), absl::GetFlag(FLAGS_vocab));
  if (!tokenizer.ok()) {
    std::cerr << tokenizer.status() << std::endl;
    return 2;
  }
  return CheckCases(**tokenizer, arguments[1]);
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  return sightline::Main(argc, argv);
}
