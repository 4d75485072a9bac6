#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "common/bundle/container_format.h"

namespace sightline {

using namespace container_format;  // NOLINT: the format's numbers, in the file of the format

struct ContainerWriter::State {
  std::unique_ptr<AtomicFile> file;
  std::vector<Section> sections;
  std::set<std::string> names;
  bool laid_out = false;
  bool finished = false;

  size_t current = 0;  // section that takes data
  int64_t taken = 0;   // bytes of it that came, padding included
  std::string buffer;  // its block in the making: less than a MiB
  std::string table;   // filled by Finish; its length is known before
  int64_t table_length = 0;
  int64_t file_length = 0;

  // Bytes of a row without padding (rank 2), or of an element.
  static int64_t RowBytes(const Section& section) {
    const auto element = static_cast<int64_t>(DtypeSize(section.dtype));
    return section.shape.size() == 2 ? section.shape[1] * element : element;
  }

  // Gives each section its place.  The table's length does not depend on what is in it.
  absl::Status LayOut();
  void EncodeTable();
  absl::Status Take(absl::string_view bytes);
  absl::Status FlushBlock();
  absl::Status SkipFullSections();
};

absl::Status ContainerWriter::State::LayOut() {
  table_length = 0;
  for (const Section& section : sections) {
    table_length +=
        static_cast<int64_t>(sizeof(uint16_t) + section.name.size() + 2 * sizeof(uint32_t) +
                             8 * section.shape.size() + 3 * sizeof(uint64_t) + sizeof(uint32_t)) +
        ChecksumCount(section.length) * static_cast<int64_t>(sizeof(uint32_t));
  }
  file_length = kHeaderLength + table_length;
  for (Section& section : sections) {
    section.offset = RoundUp(file_length, kSectionAlignment);
    if (__builtin_add_overflow(section.offset, section.length, &file_length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("section ", section.name, " makes the file longer than 2^63 bytes"));
    }
  }
  laid_out = true;
  // Gaps are never written and read as zero.
  return file->Resize(file_length);
}

void ContainerWriter::State::EncodeTable() {
  table.clear();
  for (const Section& section : sections) {
    AppendLittleEndian(static_cast<uint16_t>(section.name.size()), &table);
    table += section.name;
    AppendLittleEndian(static_cast<uint32_t>(section.dtype), &table);
    AppendLittleEndian(static_cast<uint32_t>(section.shape.size()), &table);
    for (const int64_t extent : section.shape) AppendLittleEndian(extent, &table);
    AppendLittleEndian(section.row_stride_bytes, &table);
    AppendLittleEndian(section.offset, &table);
    AppendLittleEndian(section.length, &table);
    AppendLittleEndian(static_cast<uint32_t>(section.checksums.size()), &table);
    for (const uint32_t crc : section.checksums) AppendLittleEndian(crc, &table);
  }
}

absl::Status ContainerWriter::State::FlushBlock() {
  if (buffer.empty()) return absl::OkStatus();
  Section& section = sections[current];
  const int64_t done = static_cast<int64_t>(section.checksums.size()) * kChecksumBlock;
  RETURN_IF_ERROR(file->WriteAt(section.offset + done, buffer));
  section.checksums.push_back(Crc32c(buffer));
  buffer.clear();
  return absl::OkStatus();
}

absl::Status ContainerWriter::State::Take(absl::string_view bytes) {
  taken += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const size_t piece = std::min(bytes.size(), kChecksumBlock - buffer.size());
    buffer.append(bytes.data(), piece);
    bytes.remove_prefix(piece);
    if (buffer.size() == kChecksumBlock) RETURN_IF_ERROR(FlushBlock());
  }
  return absl::OkStatus();
}

absl::Status ContainerWriter::State::SkipFullSections() {
  while (current < sections.size() && taken == sections[current].length) {
    RETURN_IF_ERROR(FlushBlock());
    ++current;
    taken = 0;
  }
  return absl::OkStatus();
}

ContainerWriter::ContainerWriter() : state_(std::make_unique<State>()) {}
ContainerWriter::~ContainerWriter() = default;

absl::StatusOr<std::unique_ptr<ContainerWriter>> ContainerWriter::Create(absl::string_view path) {
  std::unique_ptr<ContainerWriter> writer(new ContainerWriter);
  ASSIGN_OR_RETURN(writer->state_->file, AtomicFile::Create(path));
  return writer;
}

absl::Status ContainerWriter::Declare(absl::string_view name, Dtype dtype,
                                      std::vector<int64_t> shape, bool padded_rows) {
  State& state = *state_;
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("section '", name, "': ", why));
  };
  if (state.laid_out) {
    return absl::FailedPreconditionError(
        absl::StrCat("section ", name, " is declared after the first Append"));
  }
  if (!IsSectionName(name)) return refuse("a name is 1 to 200 of A-Z a-z 0-9 . _ / -");
  if (state.sections.size() >= kMaxSections) return refuse("there are 4096 sections already");
  const auto element = static_cast<int64_t>(DtypeSize(dtype));
  if (element == 0) return refuse("unknown dtype");
  if (shape.size() != 1 && shape.size() != 2) return refuse("rank is 1 or 2");
  if (shape[0] < 0) return refuse("negative extent");
  if (shape.size() == 2 && shape[1] < 1) return refuse("a row needs at least one column");
  if (padded_rows && shape.size() != 2) return refuse("only rank 2 has rows to pad");

  Section section;
  section.name = std::string(name);
  section.dtype = dtype;
  section.shape = std::move(shape);
  int64_t row = element;
  bool overflow =
      section.shape.size() == 2 && __builtin_mul_overflow(section.shape[1], element, &row);
  section.row_stride_bytes = padded_rows && !overflow ? RoundUp(row, kRowAlignment) : row;
  overflow = overflow ||
             __builtin_mul_overflow(section.shape[0], section.row_stride_bytes, &section.length);
  // The number of checksums is stored in 32 bits.
  if (overflow || ChecksumCount(section.length) > UINT32_MAX) return refuse("too large");
  if (!state.names.insert(section.name).second) return refuse("declared twice");
  state.sections.push_back(std::move(section));
  return absl::OkStatus();
}

absl::Status ContainerWriter::Append(absl::string_view bytes) {
  State& state = *state_;
  if (!state.laid_out) RETURN_IF_ERROR(state.LayOut());
  RETURN_IF_ERROR(state.SkipFullSections());
  if (bytes.empty()) return absl::OkStatus();
  if (state.current == state.sections.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes more than the declared sections hold"));
  }
  const Section& section = state.sections[state.current];
  const int64_t row = State::RowBytes(section);
  const auto rows = static_cast<int64_t>(bytes.size()) / row;
  const int64_t left = (section.length - state.taken) / section.row_stride_bytes;
  if (static_cast<int64_t>(bytes.size()) % row != 0 || rows > left) {
    return absl::InvalidArgumentError(absl::StrCat(bytes.size(), " bytes for section ",
                                                   section.name, ", which takes ", left,
                                                   " more rows or elements of ", row, " bytes"));
  }
  if (section.row_stride_bytes == row) {
    RETURN_IF_ERROR(state.Take(bytes));
  } else {
    const std::string gap(section.row_stride_bytes - row, '\0');
    for (int64_t i = 0; i < rows; ++i) {
      RETURN_IF_ERROR(state.Take(bytes.substr(i * row, row)));
      RETURN_IF_ERROR(state.Take(gap));
    }
  }
  return state.SkipFullSections();
}

absl::StatusOr<ContainerWriter::Summary> ContainerWriter::Finish() {
  State& state = *state_;
  if (state.finished) return absl::FailedPreconditionError("the container is finished already");
  if (!state.laid_out) RETURN_IF_ERROR(state.LayOut());
  RETURN_IF_ERROR(state.SkipFullSections());
  if (state.current != state.sections.size()) {
    const Section& section = state.sections[state.current];
    return absl::FailedPreconditionError(absl::StrCat(
        "section ", section.name, " has ", state.taken, " of ", section.length, " bytes"));
  }
  state.EncodeTable();
  std::string header(kContainerMagic);
  AppendLittleEndian(kVersion, &header);
  AppendLittleEndian(static_cast<uint32_t>(state.sections.size()), &header);
  AppendLittleEndian(static_cast<uint64_t>(state.table.size()), &header);
  AppendLittleEndian(static_cast<uint64_t>(state.file_length), &header);
  AppendLittleEndian(Crc32c(state.table), &header);
  AppendLittleEndian(Crc32c(header), &header);
  RETURN_IF_ERROR(state.file->WriteAt(0, header + state.table));

  // The header comes first and is known last, so the digest needs a second reading.
  Summary summary;
  summary.byte_count = state.file_length;
  ASSIGN_OR_RETURN(summary.sha256, Sha256HexOfFile(state.file->temporary_path()));
  RETURN_IF_ERROR(state.file->Commit());
  state.finished = true;
  return summary;
}

}  // namespace sightline
