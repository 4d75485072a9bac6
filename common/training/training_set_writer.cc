#include "common/training/training_set_writer.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/byte_reader.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"

namespace sightline {
namespace {

// The sections, as they lie in the file.
struct Columns {
  std::vector<int64_t> split, group, caption_offsets = {0};
  std::vector<int64_t> token_offsets = {0}, language, caption_key;
  std::vector<int32_t> tokens;
};

Columns ColumnsOf(const std::vector<TrainingRow>& rows) {
  Columns columns;
  for (const TrainingRow& row : rows) {
    columns.split.push_back(static_cast<int64_t>(row.use));
    columns.group.push_back(row.group);
    for (const TrainingCaption& caption : row.captions) {
      columns.tokens.insert(columns.tokens.end(), caption.tokens.begin(), caption.tokens.end());
      columns.token_offsets.push_back(static_cast<int64_t>(columns.tokens.size()));
      columns.language.push_back(caption.language);
      columns.caption_key.push_back(caption.key);
    }
    columns.caption_offsets.push_back(static_cast<int64_t>(columns.language.size()));
  }
  return columns;
}

struct ConceptColumns {
  std::vector<int64_t> text_offsets = {0}, token_offsets = {0};
  std::vector<int32_t> tokens;
};

ConceptColumns ColumnsOf(const std::vector<TrainingConcept>& concepts) {
  ConceptColumns columns;
  for (const TrainingConcept& texts : concepts) {
    for (const std::vector<int32_t>& tokens : texts) {
      columns.tokens.insert(columns.tokens.end(), tokens.begin(), tokens.end());
      columns.token_offsets.push_back(static_cast<int64_t>(columns.tokens.size()));
    }
    columns.text_offsets.push_back(static_cast<int64_t>(columns.token_offsets.size()) - 1);
  }
  return columns;
}

// Sections other than the pictures: all are declared before any data comes.
class SmallSections {
 public:
  void Add(absl::string_view name, const std::vector<int64_t>& numbers) {
    Add(name, Dtype::kInt64, BytesOfNumbers(numbers));
  }
  void Add(absl::string_view name, const std::vector<int32_t>& numbers) {
    Add(name, Dtype::kInt32, BytesOfNumbers(numbers));
  }
  void Add(absl::string_view name, absl::string_view text) { Add(name, Dtype::kBytes, text); }

  absl::Status Declare(ContainerWriter& writer) const {
    for (const Entry& entry : entries_) {
      const auto count = static_cast<int64_t>(entry.bytes.size() / DtypeSize(entry.dtype));
      RETURN_IF_ERROR(writer.Declare(entry.name, entry.dtype, {count}));
    }
    return absl::OkStatus();
  }

  absl::Status Append(ContainerWriter& writer) const {
    for (const Entry& entry : entries_) RETURN_IF_ERROR(writer.Append(entry.bytes));
    return absl::OkStatus();
  }

 private:
  struct Entry {
    std::string name;
    Dtype dtype;
    std::string bytes;
  };

  void Add(absl::string_view name, Dtype dtype, absl::string_view bytes) {
    entries_.push_back({std::string(name), dtype, std::string(bytes)});
  }

  std::vector<Entry> entries_;
};

SmallSections SectionsOf(const TrainingSetContent& content) {
  const Columns columns = ColumnsOf(content.rows);
  const ConceptColumns concepts = ColumnsOf(content.concepts);
  const SpecialTokens& special = content.special_tokens;
  SmallSections sections;
  sections.Add("image_size", std::vector<int64_t>{content.image_size});
  sections.Add("split", columns.split);
  sections.Add("group", columns.group);
  sections.Add("captions/items", columns.caption_offsets);
  sections.Add("tokens/captions", columns.token_offsets);
  sections.Add("tokens", columns.tokens);
  sections.Add("language", columns.language);
  sections.Add("caption_key", columns.caption_key);
  sections.Add("languages", absl::StrJoin(content.languages, "\n"));
  sections.Add("texts/concepts", concepts.text_offsets);
  sections.Add("tokens/texts", concepts.token_offsets);
  sections.Add("text_tokens", concepts.tokens);
  sections.Add("max_token_count", std::vector<int64_t>{content.max_token_count});
  sections.Add("vocabulary_size", std::vector<int64_t>{content.vocabulary_size});
  sections.Add("special_tokens", std::vector<int64_t>{special.pad, special.unk, special.cls,
                                                      special.sep, special.mask});
  sections.Add("vocabulary_sha256", content.vocabulary_sha256);
  sections.Add("items_sha256", content.items_sha256);
  return sections;
}

}  // namespace

absl::Status WriteTrainingSet(
    absl::string_view path, const TrainingSetContent& content,
    const std::function<absl::StatusOr<absl::string_view>(int64_t row)>& picture) {
  const auto row_count = static_cast<int64_t>(content.rows.size());
  const int64_t picture_bytes = 3 * content.image_size * content.image_size;
  const SmallSections sections = SectionsOf(content);
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("pictures", Dtype::kBytes, {row_count, picture_bytes}));
  RETURN_IF_ERROR(sections.Declare(*writer));
  for (int64_t row = 0; row < row_count; ++row) {
    ASSIGN_OR_RETURN(const absl::string_view bytes, picture(row));
    if (static_cast<int64_t>(bytes.size()) != picture_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("picture ", row, " has ", bytes.size(),
                                                     " bytes instead of ", picture_bytes));
    }
    RETURN_IF_ERROR(writer->Append(bytes));
  }
  RETURN_IF_ERROR(sections.Append(*writer));
  return writer->Finish().status();
}

}  // namespace sightline
