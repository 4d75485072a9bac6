#include "services/evaluator/words_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/table.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
constexpr size_t kLanguagesTold = 6;
constexpr Split kSplits[] = {Split::kTrain, Split::kValidation, Split::kHeldOut};

std::string StateText(const TokenizedWord& word) {
  if (word.unknown) return "unknown";
  return word.tokens.size() == 1 ? "one token" : absl::StrCat(word.tokens.size(), " pieces");
}

// "12 (en 10, de 2)": those with the most captions.
std::string CountText(const WordCounts& counts, Split split) {
  std::vector<std::pair<int64_t, std::string>> languages;
  for (const auto& [where, captions] : counts.captions) {
    if (where.first == split) languages.emplace_back(-captions, where.second);
  }
  std::sort(languages.begin(), languages.end());
  std::vector<std::string> told;
  for (size_t i = 0; i < std::min(languages.size(), kLanguagesTold); ++i) {
    told.push_back(absl::StrCat(languages[i].second, " ", WithThousands(-languages[i].first)));
  }
  if (told.size() < languages.size()) {
    told.push_back(absl::StrCat(languages.size() - told.size(), " more"));
  }
  const std::string count = WithThousands(counts.CaptionsOf(split));
  return told.empty() ? count : absl::StrCat(count, " (", absl::StrJoin(told, ", "), ")");
}

void AddCounts(const WordCounts& counts, std::vector<std::string>* cells) {
  for (const Split split : kSplits) cells->push_back(CountText(counts, split));
  cells->push_back(WithThousands(counts.texts));
}

std::string WordTable(const WordsReport& report) {
  std::vector<Table::Column> columns = {{"word"}, {"tokens"}, {"is"}};
  if (report.shown.has_value()) {
    for (const Split split : kSplits) columns.push_back({std::string(SplitName(split))});
    columns.push_back({"texts", true});
  }
  Table table(columns);
  for (const TokenizedWord& word : report.words) {
    std::vector<std::string> cells = {word.text, absl::StrJoin(word.tokens, " "), StateText(word)};
    if (report.shown.has_value()) AddCounts(report.shown->of(word.key), &cells);
    table.AddRow(cells);
  }
  if (report.shown.has_value()) {
    std::vector<std::string> cells = {"", "", "all captions"};
    AddCounts(report.shown->total(), &cells);
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string UnseenText(const std::vector<TokenizedWord>& words) {
  std::vector<std::string> texts;
  for (const TokenizedWord& word : words) {
    texts.push_back(word.unknown ? absl::StrCat(word.text, " (unknown)") : word.text);
  }
  return absl::StrJoin(texts, " ");
}

std::string QuestionTable(const WordsReport& report) {
  Table table({{"never shown in training"}, {"question"}});
  size_t count = 0;
  for (const WordsReport::Question& question : report.questions) {
    if (question.unseen.empty()) continue;
    table.AddRow({UnseenText(question.unseen), question.query});
    ++count;
  }
  return absl::StrCat(count > 0 ? table.ToString() : "", count, " of ", report.questions.size(),
                      " questions have a word that training never showed\n");
}

// --- for programs ---

Json CountsJson(const WordCounts& counts) {
  Json json = {{"captions", Json::object()}, {"texts", counts.texts}};
  for (const Split split : kSplits) {
    json["captions"][std::string(SplitName(split))] = Json::object();
  }
  for (const auto& [where, captions] : counts.captions) {
    json["captions"][std::string(SplitName(where.first))][where.second] = captions;
  }
  return json;
}

Json WordJson(const TokenizedWord& word) {
  return {{"word", word.text}, {"tokens", word.tokens}, {"unknown", word.unknown}};
}

}  // namespace

std::string WordsText(const WordsReport& report) {
  std::string text = report.words.empty() ? "" : WordTable(report);
  if (report.questions.empty()) return text;
  return absl::StrCat(text, text.empty() ? "" : "\n", QuestionTable(report));
}

std::string WordsJson(const WordsReport& report) {
  Json json = {{"format_version", kFormatVersion}, {"words", Json::array()}};
  if (report.shown.has_value()) json["all"] = CountsJson(report.shown->total());
  for (const TokenizedWord& word : report.words) {
    Json own = WordJson(word);
    if (report.shown.has_value()) {
      own.update(CountsJson(report.shown->of(word.key)));
      own["shown"] = report.shown->of(word.key).Shown();
    }
    json["words"].push_back(std::move(own));
  }
  if (!report.questions.empty()) json["questions"] = Json::array();
  for (const WordsReport::Question& question : report.questions) {
    Json own = {{"query", question.query}, {"unseen", Json::array()}};
    for (const TokenizedWord& word : question.unseen) own["unseen"].push_back(WordJson(word));
    json["questions"].push_back(std::move(own));
  }
  return absl::StrCat(json.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace sightline
