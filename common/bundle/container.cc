#include "common/bundle/container.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/bundle/container_format.h"

namespace sightline {
namespace {

using namespace container_format;  // NOLINT: the format's numbers, in the file of the format

// How much of a file that is loaded stays in the page cache, at most.
constexpr int64_t kDropBytes = int64_t{32} << 20;

static_assert(Container::kBlockBytes == kChecksumBlock, "the header states the format");

// The 40 bytes that every version begins with.
struct Header {
  uint32_t version = 0;
  uint32_t section_count = 0;
  uint64_t table_length = 0;
  uint64_t file_length = 0;
  uint32_t table_crc = 0;
};

absl::Status ChecksumMismatch(absl::string_view message) {
  return MakeError(reasons::kChecksumMismatch, message);
}

// What the table of as many sections as there may be can take in a file of `length`, so that
// no more memory is asked for than that.
uint64_t LongestTable(int64_t length) {
  constexpr uint64_t kLongestEntry =
      sizeof(uint16_t) + kMaxNameLength + 3 * sizeof(uint32_t) + 5 * sizeof(uint64_t);
  const uint64_t checksums = static_cast<uint64_t>(ChecksumCount(length)) + kMaxSections;
  return kMaxSections * kLongestEntry + checksums * sizeof(uint32_t);
}

// `bytes` are the first ones of a file of `length`.
absl::StatusOr<Header> ParseHeader(absl::string_view bytes, int64_t length) {
  if (bytes.size() < kHeaderLength) {
    return absl::DataLossError(
        absl::StrCat("truncated: ", bytes.size(), " bytes are fewer than a header has"));
  }
  if (bytes.substr(0, kContainerMagic.size()) != kContainerMagic) {
    return absl::DataLossError(
        absl::StrCat("not a Sightline container: it does not begin with ", kContainerMagic));
  }
  const uint32_t crc = LoadLittleEndian<uint32_t>(bytes.data() + kHeaderCrcOffset);
  if (crc != Crc32c(bytes.substr(0, kHeaderCrcOffset))) {
    return ChecksumMismatch("the header's checksum does not match");
  }
  Header header;
  header.version = LoadLittleEndian<uint32_t>(bytes.data() + 8);
  header.section_count = LoadLittleEndian<uint32_t>(bytes.data() + 12);
  header.table_length = LoadLittleEndian<uint64_t>(bytes.data() + 16);
  header.file_length = LoadLittleEndian<uint64_t>(bytes.data() + 24);
  header.table_crc = LoadLittleEndian<uint32_t>(bytes.data() + 32);
  if (header.version > kVersion) {
    return MakeError(reasons::kNewerFormat,
                     absl::StrCat("format version ", header.version, " is newer than the ",
                                  kVersion, " that this program reads; update the program"));
  }
  if (header.version != kVersion) {
    return absl::DataLossError(absl::StrCat("format version ", header.version));
  }
  if (header.file_length != static_cast<uint64_t>(length)) {
    return absl::DataLossError(
        absl::StrCat("truncated or padded: ", length, " of ", header.file_length, " bytes"));
  }
  if (header.section_count > kMaxSections) {
    return absl::DataLossError(
        absl::StrCat(header.section_count, " sections; at most ", kMaxSections, " are read"));
  }
  if (header.table_length > static_cast<uint64_t>(length - kHeaderLength) ||
      header.table_length > LongestTable(length)) {
    return absl::DataLossError(
        absl::StrCat("a section table of ", header.table_length, " bytes does not fit the file"));
  }
  return header;
}

// Takes numbers off the front of the section table.
class TableReader {
 public:
  explicit TableReader(absl::string_view table) : rest_(table) {}

  absl::StatusOr<absl::string_view> Bytes(uint64_t count) {
    if (count > rest_.size()) return absl::DataLossError("the section table ends too early");
    const absl::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  template <typename T>
  absl::StatusOr<T> Number() {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Bytes(sizeof(T)));
    return LoadLittleEndian<T>(bytes.data());
  }

  // A u64 that must fit into an int64_t.
  absl::StatusOr<int64_t> Size(absl::string_view what) {
    ASSIGN_OR_RETURN(const uint64_t value, Number<uint64_t>());
    if (value > INT64_MAX) return absl::DataLossError(absl::StrCat(what, " is ", value));
    return static_cast<int64_t>(value);
  }

  bool done() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

absl::StatusOr<Section> ReadEntry(TableReader& table) {
  Section section;
  ASSIGN_OR_RETURN(const uint16_t name_length, table.Number<uint16_t>());
  ASSIGN_OR_RETURN(const absl::string_view name, table.Bytes(name_length));
  if (!IsSectionName(name)) {
    return absl::DataLossError(
        absl::StrCat("malformed section name '", absl::CHexEscape(name.substr(0, 64)), "'"));
  }
  section.name = std::string(name);
  ASSIGN_OR_RETURN(const uint32_t dtype, table.Number<uint32_t>());
  section.dtype = static_cast<Dtype>(dtype);
  ASSIGN_OR_RETURN(const uint32_t rank, table.Number<uint32_t>());
  if (rank != 1 && rank != 2) {
    return absl::DataLossError(absl::StrCat("section ", name, " has rank ", rank));
  }
  for (uint32_t i = 0; i < rank; ++i) {
    ASSIGN_OR_RETURN(const int64_t extent, table.Size("an extent"));
    section.shape.push_back(extent);
  }
  ASSIGN_OR_RETURN(section.row_stride_bytes, table.Size("a row stride"));
  ASSIGN_OR_RETURN(section.offset, table.Size("an offset"));
  ASSIGN_OR_RETURN(section.length, table.Size("a length"));
  ASSIGN_OR_RETURN(const uint32_t checksum_count, table.Number<uint32_t>());
  ASSIGN_OR_RETURN(const absl::string_view checksums,
                   table.Bytes(uint64_t{checksum_count} * sizeof(uint32_t)));
  for (uint32_t i = 0; i < checksum_count; ++i) {
    section.checksums.push_back(
        LoadLittleEndian<uint32_t>(checksums.data() + i * sizeof(uint32_t)));
  }
  return section;
}

// Whether the section lies inside the file and behind `previous_end`.
absl::Status CheckPlace(const Section& section, int64_t previous_end, int64_t file_length) {
  if (section.offset % kSectionAlignment != 0 || section.offset < previous_end) {
    return absl::DataLossError(absl::StrCat("section ", section.name, " starts at ", section.offset,
                                            ", inside of something else"));
  }
  if (section.offset > file_length || section.length > file_length - section.offset) {
    return absl::DataLossError(absl::StrCat("section ", section.name, " at ", section.offset,
                                            " with ", section.length,
                                            " bytes reaches past the file's end"));
  }
  if (section.checksums.size() != static_cast<uint64_t>(ChecksumCount(section.length))) {
    return absl::DataLossError(absl::StrCat("section ", section.name, " has ",
                                            section.checksums.size(), " checksums for ",
                                            section.length, " bytes"));
  }
  return absl::OkStatus();
}

// Whether dtype, shape and stride give the section's length.
absl::Status CheckShape(const Section& section) {
  const auto element = static_cast<int64_t>(DtypeSize(section.dtype));
  if (element == 0) return absl::OkStatus();  // a dtype of the future: nobody can ask for it
  const absl::Status mismatch = absl::DataLossError(
      absl::StrCat("section ", section.name, ": shape and row stride do not give its ",
                   section.length, " bytes"));
  int64_t row = element;
  if (section.shape.size() == 2) {
    // Rows of nothing would take no bytes, and could then be any number.
    if (section.shape[1] == 0) return mismatch;
    if (__builtin_mul_overflow(section.shape[1], element, &row)) return mismatch;
  }
  const bool padded =
      section.shape.size() == 2 && section.row_stride_bytes == RoundUp(row, kRowAlignment);
  if (section.row_stride_bytes != row && !padded) return mismatch;
  int64_t length = 0;
  if (__builtin_mul_overflow(section.shape[0], section.row_stride_bytes, &length)) return mismatch;
  return length == section.length ? absl::OkStatus() : mismatch;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Container>> Container::Open(absl::string_view path) {
  std::unique_ptr<Container> container(new Container);
  ASSIGN_OR_RETURN(container->file_, RandomAccessFile::Open(path));
  container->path_ = std::string(path);
  container->length_ = container->file_->size();
  absl::Status parsed = container->Parse();
  if (absl::IsDataLoss(parsed)) {
    // Once more, past what the system has in memory.
    container->file_->DropFromCache(0, std::max(container->data_begin_, kHeaderLength));
    container->sections_.clear();
    parsed = container->Parse();
  }
  RETURN_IF_ERROR(parsed);
  return container;
}

absl::StatusOr<std::unique_ptr<Container>> Container::Map(absl::string_view path) {
  std::unique_ptr<Container> container(new Container);
  ASSIGN_OR_RETURN(container->mapped_, MappedFile::Open(path));
  container->path_ = std::string(path);
  container->bytes_ = container->mapped_->bytes();
  container->length_ = static_cast<int64_t>(container->bytes_.size());
  RETURN_IF_ERROR(container->Parse());
  return container;
}

absl::StatusOr<std::unique_ptr<Container>> Container::FromBytes(absl::string_view bytes) {
  std::unique_ptr<Container> container(new Container);
  container->path_ = "container in memory";
  container->bytes_ = bytes;
  container->length_ = static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(container->Parse());
  return container;
}

absl::Status Container::ReadAt(int64_t offset, int64_t length, char* to) const {
  if (file_ != nullptr) return file_->Read(offset, length, to);
  std::copy_n(bytes_.data() + offset, length, to);
  return absl::OkStatus();
}

// Header and section table, as far as the header's numbers can be.
absl::StatusOr<std::string> Container::ReadStart() {
  std::string start(static_cast<size_t>(std::min(length_, kHeaderLength)), '\0');
  RETURN_IF_ERROR(ReadAt(0, static_cast<int64_t>(start.size()), start.data()));
  const absl::StatusOr<Header> header = ParseHeader(start, length_);
  if (!header.ok()) return WithPrefix(header.status(), path_);
  data_begin_ = kHeaderLength + static_cast<int64_t>(header->table_length);
  start.resize(static_cast<size_t>(data_begin_));
  RETURN_IF_ERROR(ReadAt(0, data_begin_, start.data()));
  return start;
}

absl::Status Container::Parse() {
  const auto in_file = [&](const absl::Status& status) { return WithPrefix(status, path_); };
  ASSIGN_OR_RETURN(const std::string start, ReadStart());
  const absl::StatusOr<Header> header = ParseHeader(start, length_);
  if (!header.ok()) return in_file(header.status());
  const absl::string_view table_bytes = absl::string_view(start).substr(kHeaderLength);
  if (Crc32c(table_bytes) != header->table_crc) {
    return in_file(ChecksumMismatch("the section table's checksum does not match"));
  }
  TableReader table(table_bytes);
  std::set<std::string> names;
  int64_t end = data_begin_;
  for (uint32_t i = 0; i < header->section_count; ++i) {
    absl::StatusOr<Section> section = ReadEntry(table);
    if (!section.ok()) return in_file(section.status());
    if (const absl::Status status = CheckPlace(*section, end, file_length()); !status.ok()) {
      return in_file(status);
    }
    if (const absl::Status status = CheckShape(*section); !status.ok()) return in_file(status);
    if (!names.insert(section->name).second) {
      return in_file(absl::DataLossError(absl::StrCat("two sections named ", section->name)));
    }
    end = section->offset + section->length;
    if (file_ == nullptr) section->data = bytes_.data() + section->offset;
    sections_.push_back(*std::move(section));
  }
  if (!table.done()) {
    return in_file(absl::DataLossError("the section table is longer than its sections"));
  }
  if (end != file_length()) {
    return in_file(absl::DataLossError(
        absl::StrCat("sections end at ", end, " but the file has ", file_length(), " bytes")));
  }
  return absl::OkStatus();
}

const Section* Container::Find(absl::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

absl::StatusOr<const Section*> Container::Require(absl::string_view name, Dtype dtype,
                                                  int rank) const {
  const Section* section = Find(name);
  if (section == nullptr) {
    return absl::DataLossError(absl::StrCat(path_, ": section ", name, " is missing"));
  }
  if (section->dtype != dtype || static_cast<int>(section->shape.size()) != rank) {
    return absl::DataLossError(
        absl::StrCat(path_, ": section ", name, " holds ", DtypeName(section->dtype), " of rank ",
                     section->shape.size(), " instead of ", DtypeName(dtype), " of rank ", rank));
  }
  return section;
}

absl::Status Container::Verify(const CallContext& call,
                               absl::Span<const Section* const> read) const {
  int64_t end = data_begin_;
  for (const Section& section : sections_) {
    RETURN_IF_ERROR(CheckGap(end, section));
    end = section.offset + section.length;
    if (std::find(read.begin(), read.end(), &section) != read.end()) continue;
    for (int64_t begin = 0; begin < section.length; begin += kChecksumBlock) {
      RETURN_IF_ERROR(call.Check("verify a container"));
      RETURN_IF_ERROR(VerifyRange(section, begin, 1));
    }
  }
  return absl::OkStatus();
}

absl::Status Container::CheckGap(int64_t begin, const Section& before) const {
  std::string piece;
  for (; begin < before.offset; begin += static_cast<int64_t>(piece.size())) {
    // Who lies may leave any gap, so it is not read as a whole.
    piece.resize(static_cast<size_t>(std::min(before.offset - begin, kChecksumBlock)));
    const auto length = static_cast<int64_t>(piece.size());
    const auto is_zero = [&] { return piece.find_first_not_of('\0') == std::string::npos; };
    RETURN_IF_ERROR(ReadAt(begin, length, piece.data()));
    if (is_zero()) continue;
    if (file_ != nullptr) RETURN_IF_ERROR(file_->ReadAgain(begin, length, piece.data()));
    if (is_zero()) continue;
    // No checksum covers it; that it is zero is what makes it known.
    return ChecksumMismatch(
        absl::StrCat(path_, ": the bytes before section ", before.name, " are not all zero"));
  }
  return absl::OkStatus();
}

absl::Status Container::VerifyRange(const Section& section, int64_t begin, int64_t length) const {
  if (length == 0) return absl::OkStatus();
  std::string buffer;
  for (int64_t i = begin / kChecksumBlock; i <= (begin + length - 1) / kChecksumBlock; ++i) {
    if (file_ == nullptr) {
      const int64_t from = i * kChecksumBlock;
      const int64_t bytes = std::min(kChecksumBlock, section.length - from);
      RETURN_IF_ERROR(CheckBlock(
          section, i, absl::string_view(section.data + from, static_cast<size_t>(bytes))));
      continue;
    }
    buffer.resize(kChecksumBlock);
    RETURN_IF_ERROR(ReadBlock(section, i, buffer.data()));
  }
  return absl::OkStatus();
}

absl::Status Container::CheckBlock(const Section& section, int64_t block,
                                   absl::string_view bytes) const {
  if (Crc32c(bytes) == section.checksums[static_cast<size_t>(block)]) return absl::OkStatus();
  const int64_t begin = block * kChecksumBlock;
  return ChecksumMismatch(absl::StrCat(
      path_, ": section ", section.name, ": checksum mismatch in bytes ", begin, " to ",
      begin + static_cast<int64_t>(bytes.size()), " (at ", section.offset + begin,
      " of the file); fetch it again, under another name, and rename that into "
      "place"));
}

absl::Status Container::ReadBlock(const Section& section, int64_t block, char* to) const {
  const int64_t begin = block * kChecksumBlock;
  const int64_t length = std::min(kChecksumBlock, section.length - begin);
  const absl::string_view bytes(to, static_cast<size_t>(length));
  RETURN_IF_ERROR(ReadAt(section.offset + begin, length, to));
  if (CheckBlock(section, block, bytes).ok()) return absl::OkStatus();
  RETURN_IF_ERROR(ReadAgain(section, begin, length, to));
  return CheckBlock(section, block, bytes);
}

absl::Status Container::ReadBlocks(const Section& section, int64_t first, int64_t count,
                                   char* to) const {
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(ReadBlock(section, first + i, to + i * kChecksumBlock));
  }
  return absl::OkStatus();
}

absl::Status Container::Read(const Section& section, int64_t begin, int64_t length,
                             char* to) const {
  std::string block;
  for (int64_t done = 0; done < length;) {
    const int64_t at = begin + done;
    const int64_t inside = at % kChecksumBlock;
    const int64_t piece = std::min(length - done, kChecksumBlock - inside);
    block.resize(static_cast<size_t>(std::min(kChecksumBlock, section.length)));
    RETURN_IF_ERROR(ReadBlock(section, at / kChecksumBlock, block.data()));
    std::copy_n(block.data() + inside, piece, to + done);
    done += piece;
  }
  return absl::OkStatus();
}

absl::Status Container::ReadUnchecked(const Section& section, int64_t begin, int64_t length,
                                      char* to) const {
  return ReadAt(section.offset + begin, length, to);
}

absl::Status Container::ReadAgain(const Section& section, int64_t begin, int64_t length,
                                  char* to) const {
  const int64_t at = section.offset + begin;
  return file_ != nullptr ? file_->ReadAgain(at, length, to) : ReadAt(at, length, to);
}

bool Container::ReadCached(const Section& section, int64_t begin, int64_t length, char* to) const {
  if (file_ != nullptr) return file_->ReadCached(section.offset + begin, length, to);
  std::copy_n(section.data + begin, length, to);
  return true;
}

void Container::WillNeed(const Section& section, int64_t begin, int64_t length) const {
  if (file_ != nullptr) file_->WillNeed(section.offset + begin, length);
}

absl::StatusOr<SectionBytes> Container::Load(const Section& section,
                                             const CallContext& call) const {
  if (file_ == nullptr) {
    return SectionBytes(absl::string_view(section.data, static_cast<size_t>(section.length)));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<ResidentMemory> own,
                   ResidentMemory::Allocate(section.length));
  for (int64_t begin = 0; begin < section.length; begin += kChecksumBlock) {
    RETURN_IF_ERROR(call.Check("load a section"));
    RETURN_IF_ERROR(ReadBlock(section, begin / kChecksumBlock, own->data() + begin));
    // Behind the reader, so that there are not two copies.  Seldom, since the kernel may have
    // to ask all cores for what they keep of it; small sections are not worth a call.
    const int64_t done = begin + kChecksumBlock;
    if (done % kDropBytes == 0) {
      file_->DropFromCache(section.offset + done - kDropBytes, kDropBytes);
    }
  }
  return SectionBytes(own);
}

}  // namespace sightline
