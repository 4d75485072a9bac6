// Containers as an adversary writes them: any number anywhere, and yet all checksums
// right.
#ifndef SIGHTLINE_TESTS_COMMON_BUNDLE_CONTAINER_SURGERY_H_
#define SIGHTLINE_TESTS_COMMON_BUNDLE_CONTAINER_SURGERY_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/checksum.h"

namespace sightline {

template <typename T>
void PutNumber(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void PatchNumber(T value, size_t at, std::string* bytes) {
  std::memcpy(&(*bytes)[at], &value, sizeof(value));
}

template <typename T>
T NumberAt(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// An entry of the section table, as it will be written.
struct RawSection {
  std::string name = "s";
  uint32_t dtype = 1;
  uint32_t rank = 1;
  std::vector<uint64_t> shape = {3};
  uint64_t row_stride = 1;
  uint64_t offset = 4096;
  uint64_t length = 3;
  std::vector<uint32_t> checksums = {Crc32c("abc")};
};

struct RawContainer {
  std::vector<RawSection> sections = {RawSection()};
  std::string tail = "abc";  // what lies at offset 4096
  uint32_t version = 1;
  int64_t extra_sections = 0;      // added to the section count
  int64_t extra_table_length = 0;  // added to the table's length
  int64_t extra_file_length = 0;   // added to the file's length

  std::string Bytes() const {
    std::string table;
    for (const RawSection& section : sections) {
      PutNumber(static_cast<uint16_t>(section.name.size()), &table);
      table += section.name;
      PutNumber(section.dtype, &table);
      PutNumber(section.rank, &table);
      for (const uint64_t extent : section.shape) PutNumber(extent, &table);
      PutNumber(section.row_stride, &table);
      PutNumber(section.offset, &table);
      PutNumber(section.length, &table);
      PutNumber(static_cast<uint32_t>(section.checksums.size()), &table);
      for (const uint32_t crc : section.checksums) PutNumber(crc, &table);
    }
    const uint64_t length = tail.empty() ? 40 + table.size() : 4096 + tail.size();
    std::string bytes = "SIGHTLN1";
    PutNumber(version, &bytes);
    PutNumber(static_cast<uint32_t>(sections.size() + extra_sections), &bytes);
    PutNumber(static_cast<uint64_t>(table.size() + extra_table_length), &bytes);
    PutNumber(static_cast<uint64_t>(length + extra_file_length), &bytes);
    PutNumber(Crc32c(table), &bytes);
    PutNumber(Crc32c(bytes), &bytes);
    bytes += table;
    if (!tail.empty()) {
      bytes.resize(4096, '\0');
      bytes += tail;
    }
    return bytes;
  }
};

// Where a section lies, by walking the table of a sound container.
struct Place {
  size_t offset = 0;
  size_t length = 0;
};

// Walks the section table of `bytes`, makes all checksums right again and returns where
// the section `name` lies.
inline Place RepairChecksums(std::string* bytes, const std::string& name = "") {
  Place place;
  const size_t table_end = 40 + NumberAt<uint64_t>(*bytes, 16);
  size_t at = 40;
  while (at < table_end) {
    const size_t name_length = NumberAt<uint16_t>(*bytes, at);
    const std::string section = bytes->substr(at + 2, name_length);
    at += 2 + name_length + 4;
    at += 4 + size_t{8} * NumberAt<uint32_t>(*bytes, at) + 8;
    const Place here{NumberAt<uint64_t>(*bytes, at), NumberAt<uint64_t>(*bytes, at + 8)};
    if (section == name) place = here;
    const size_t count = NumberAt<uint32_t>(*bytes, at + 16);
    at += 20;
    for (size_t i = 0; i < count; ++i, at += 4) {
      const size_t begin = i << 20;
      const size_t end = std::min(here.length, begin + (size_t{1} << 20));
      PatchNumber(Crc32c(absl::string_view(*bytes).substr(here.offset + begin, end - begin)), at,
                  bytes);
    }
  }
  PatchNumber(Crc32c(absl::string_view(*bytes).substr(40, table_end - 40)), 32, bytes);
  PatchNumber(Crc32c(absl::string_view(*bytes).substr(0, 36)), 36, bytes);
  return place;
}

// Writes without syncing: tests write thousands of files.  Some file systems sync a file
// that was truncated and written again, so it is removed first.
inline void Overwrite(const std::string& path, const std::string& bytes) {
  std::remove(path.c_str());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Changes a byte of the file that is there, as a disk or a careless hand does: whoever has it
// open reads the change.
inline void CorruptInPlace(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

// A copy on the heap of just the right length, so that asan sees the first byte too many.
class ExactCopy {
 public:
  explicit ExactCopy(absl::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {
    bytes_.shrink_to_fit();
  }
  absl::string_view view() const { return absl::string_view(bytes_.data(), bytes_.size()); }

 private:
  std::vector<char> bytes_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_BUNDLE_CONTAINER_SURGERY_H_
