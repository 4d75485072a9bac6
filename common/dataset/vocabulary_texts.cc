#include "common/dataset/vocabulary_texts.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/dataset/splits.h"
#include "common/dataset/text_lines.h"

namespace sightline {
namespace {

class CountingSink : public ListingSink {
 public:
  CountingSink(bool leave_out_held_out, const CallContext& call, VocabularyMaker* maker)
      : leave_out_held_out_(leave_out_held_out), call_(call), maker_(maker) {}

  const std::string& directory() const override { return directory_; }

  absl::Status Item(CorpusItem item) override {
    RETURN_IF_ERROR(call_.Check("counting words"));
    const Split split = item.split.value_or(SplitOfItem(item.item_id));
    if (leave_out_held_out_ && split == Split::kHeldOut) {
      ++counted_.held_out_items;
      return absl::OkStatus();
    }
    for (const CorpusCaption& caption : item.captions) {
      RETURN_IF_ERROR(Within(item.item_id, maker_->Add(caption.text)));
      ++counted_.captions;
    }
    return absl::OkStatus();
  }
  // They have no captions.
  absl::Status Rejected(CorpusProblem) override { return absl::OkStatus(); }
  absl::Status Warning(CorpusProblem) override { return absl::OkStatus(); }

  const CountedCaptions& counted() const { return counted_; }

 private:
  const bool leave_out_held_out_;
  const CallContext& call_;
  VocabularyMaker* const maker_;
  const std::string directory_ = TemporaryDirectory();
  CountedCaptions counted_;
};

}  // namespace

absl::StatusOr<CountedCaptions> AddCaptions(const CorpusReader& corpus, bool leave_out_held_out,
                                            const CallContext& call, VocabularyMaker* maker) {
  CountingSink sink(leave_out_held_out, call, maker);
  RETURN_IF_ERROR(corpus.ListTo(sink));
  return sink.counted();
}

absl::StatusOr<int64_t> AddLines(const std::string& path, VocabularyMaker* maker) {
  ASSIGN_OR_RETURN(const TextLines lines, TextLines::Read(path));
  for (size_t i = 0; i < lines.size(); ++i) {
    RETURN_IF_ERROR(Within(absl::StrCat(path, ":", i + 1), maker->Add(lines[i])));
  }
  return static_cast<int64_t>(lines.size());
}

}  // namespace sightline
