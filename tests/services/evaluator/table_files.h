// Files of two images and four captions, for `tables`.
#ifndef SIGHTLINE_TESTS_SERVICES_EVALUATOR_TABLE_FILES_H_
#define SIGHTLINE_TESTS_SERVICES_EVALUATOR_TABLE_FILES_H_

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "services/evaluator/commands.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

struct TablesRan {
  int status;
  std::string out, err;
};

// Rows a, b; columns a1, a2, b1, b2.
inline const std::vector<float> kBe = {0.9f, 0.2f, 0.8f, 0.4f,  //
                                       0.6f, 0.7f, 0.1f, 0.3f};
inline const std::vector<float> kCe = {0.1f, 0.9f, 0.3f, 0.8f,  //
                                       0.8f, 0.2f, 0.7f, 0.6f};

class TableFiles {
 public:
  TableFiles() {
    Put("pairs", R"({"image":"a"}
{"image":"b"}
{"caption":"a1","image":"a","language":"en"}
{"caption":"a2","image":"a","language":"de"}
{"caption":"b1","image":"b","language":"en"}
{"caption":"b2","image":"b","language":"de"}
)");
    Put("be.npy", Npy("<f4", {2, 4}, kBe));
    Put("ce.npy", Npy("<f4", {2, 4}, kCe));
    Put("flat.npy", Npy("<f4", {2, 4}, std::vector<float>(8, 0.5f)));
    Put("a.tsv", "a\t0\n");
  }

  void Put(const std::string& name, const std::string& content) const {
    REQUIRE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string Read(const std::string& name) const {
    const auto text = ReadFile(Path(name));
    REQUIRE(text.ok());
    return *text;
  }

  // With the three matrices.
  TablesRan Run(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {"tables", "--pairs", Path("pairs"), "--resamples", "100"};
    for (const std::string name : {"be", "ce", "flat"}) {
      args.insert(args.end(), {"--matrix", absl::StrCat(name, "=", Path(name + ".npy"))});
    }
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int status = RunEvaluator(args, {out, err});
    return {status, out.str(), err.str()};
  }

 private:
  TempDir dir_;
};

// The cells of the first line that begins so, up to the intervals.
inline std::string RowOf(const TablesRan& ran, const std::string& name) {
  INFO(ran.err << ran.out);
  REQUIRE(ran.status == 0);
  for (const absl::string_view line : absl::StrSplit(ran.out, '\n')) {
    if (!absl::StartsWith(line, absl::StrCat("  ", name, " "))) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::string row;
    for (const std::string& cell : cells) {
      if (absl::StartsWith(cell, "[")) break;
      absl::StrAppend(&row, row.empty() ? "" : " ", cell);
    }
    return row;
  }
  FAIL("no row " << name);
  return "";
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_EVALUATOR_TABLE_FILES_H_
