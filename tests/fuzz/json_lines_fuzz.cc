// Any bytes as the files of JSON lines that the programs read.  The first byte chooses: 'l' a
// measurement's lists, 's' the evaluator's splits, 't' a load test's trace, 'w' the trainer's
// texts, anything else questions.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/list_file.h"
#include "common/evaluation/questions.h"
#include "loadtest/schedule/trace.h"
#include "services/trainer/text_list.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSplits(absl::string_view text) {
  const auto splits = sightline::ParseItemSplits(text);
  if (!splits.ok()) {
    Require(absl::IsInvalidArgument(splits.status()));
    return;
  }
  for (const auto& item : *splits) Require(!item.first.empty());
}

void CheckLists(absl::string_view text) {
  const auto lists = sightline::ParseListFile(text);
  if (!lists.ok()) {
    Require(absl::IsInvalidArgument(lists.status()));
    return;
  }
  Require(lists->times.size() == lists->methods.size());
  for (const auto& queries : lists->queries) {
    Require(!queries.empty());
    for (const sightline::ListedQuery& query : queries) {
      Require(query.places.size() == lists->methods.size());
      for (const std::vector<int>& places : query.places) {
        Require(static_cast<int64_t>(places.size()) <= query.relevant);
        Require(places.empty() || (places.front() >= 1 && places.back() <= lists->list_length));
      }
    }
  }
}

void CheckQuestions(absl::string_view text) {
  const auto questions = sightline::ParseQuestions(text);
  if (!questions.ok()) {
    Require(absl::IsInvalidArgument(questions.status()));
    return;
  }
  Require(!questions->empty());
  for (const sightline::Question& question : *questions) {
    Require(!question.query.empty() && !question.expected.empty());
  }
}

void CheckTrace(absl::string_view text) {
  const auto requests = sightline::ParseTrace(text, "/folder");
  if (!requests.ok()) {
    Require(absl::IsInvalidArgument(requests.status()));
    return;
  }
  Require(!requests->empty());
  absl::Duration last;
  for (const sightline::TraceRequest& request : *requests) {
    Require(request.at >= last && request.at <= sightline::kMaxTraceOffset);
    Require(request.deadline > absl::ZeroDuration());
    Require(request.request.top_k >= 1);
    last = request.at;
  }
}

void CheckTexts(absl::string_view text) {
  const auto concepts = sightline::ParseTextList(text);
  if (!concepts.ok()) {
    Require(absl::IsInvalidArgument(concepts.status()));
    return;
  }
  for (const auto& texts : *concepts) {
    Require(texts.size() >= 2 && texts.size() <= sightline::kMaxTextsPerConcept);
    for (const std::string& one : texts) Require(!one.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'l':
      CheckLists(text);
      break;
    case 's':
      CheckSplits(text);
      break;
    case 't':
      CheckTrace(text);
      break;
    case 'w':
      CheckTexts(text);
      break;
    default:
      CheckQuestions(text);
  }
  return 0;
}
