// Compares a tokenizer with what a reference implementation made of the same texts.
//
//   check_tokenizer --kind wordpiece --vocab vocab.txt[.gz] [--lower] CASES.jsonl
//
// One JSON object a line: text, tokens, ids.  Prints the first few differences, then
// `mismatches: N of M`.  Exit code 0 if N is 0 and M is not, 1 if not, 2 if the tokenizer
// or the file could not be had at all.
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
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
#include "common/base/status_macros.h"
#include "common/tokenizer/wordpiece.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, kind, "", "the kind of tokenizer: wordpiece");
ABSL_FLAG(std::string, vocab, "", "its vocabulary; may be gzipped");
ABSL_FLAG(bool, lower, false, "lower-case and strip accents (uncased vocabularies)");

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxVocabularyBytes = size_t{64} << 20;
constexpr int kMismatchesShown = 5;

// Of a gzipped file the unpacked content; zlib passes any other file through.
absl::StatusOr<std::string> ReadVocabulary(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  std::string content;
  std::vector<char> piece(1 << 16);
  for (;;) {
    const int size = gzread(file.get(), piece.data(), static_cast<unsigned>(piece.size()));
    if (size < 0) {
      int error = Z_OK;
      return absl::DataLossError(absl::StrCat(path, ": ", gzerror(file.get(), &error)));
    }
    if (size == 0) break;
    content.append(piece.data(), size);
    if (content.size() > kMaxVocabularyBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " has more than ", kMaxVocabularyBytes, " bytes"));
    }
  }
  return content;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(const std::string& kind,
                                                         const std::string& vocabulary_path) {
  if (kind != "wordpiece") {
    return absl::InvalidArgumentError(
        absl::StrCat("--kind is \"", kind, "\"; the kinds served are: wordpiece"));
  }
  if (vocabulary_path.empty()) return absl::InvalidArgumentError("--vocab FILE is needed");
  ASSIGN_OR_RETURN(const std::string vocabulary, ReadVocabulary(vocabulary_path));
  WordPieceOptions options;
  options.lowercase = absl::GetFlag(FLAGS_lower);
  return WordPieceTokenizer::Create(vocabulary, options);
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
  for (const char* key : {"tokens", "ids"}) {
    if (!expected.contains(key) || !expected[key].is_array()) {
      return absl::StrCat("has no array \"", key, "\"");
    }
  }

  const std::string& input = text->get_ref<const std::string&>();
  const auto tokens = tokenizer.Tokenize(input);
  if (!tokens.ok()) return absl::StrCat("fails: ", tokens.status().ToString());
  const auto encoded = tokenizer.Encode(input);
  if (!encoded.ok()) return absl::StrCat("fails: ", encoded.status().ToString());

  Json spellings = Json::array();
  Json ids = Json::array();
  for (const Token& token : *tokens) {
    spellings.push_back(token.text);
    ids.push_back(token.id);
  }
  if (ids != Json(*encoded)) return "Tokenize and Encode give different ids";
  if (spellings == expected["tokens"] && ids == expected["ids"]) return "";
  return absl::StrCat("text     ", Printed(*text), "\n  expected ", Printed(expected["tokens"]),
                      " ", Printed(expected["ids"]), "\n  got      ", Printed(spellings), " ",
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
  absl::SetProgramUsageMessage("--kind wordpiece --vocab FILE[.gz] [--lower] CASES.jsonl");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (arguments.size() != 2) {
    std::cerr << "one CASES.jsonl is needed, not " << arguments.size() - 1 << std::endl;
    return 2;
  }
  const auto tokenizer = MakeTokenizer(absl::GetFlag(FLAGS_kind), absl::GetFlag(FLAGS_vocab));
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
