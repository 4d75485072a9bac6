#include "common/bundle/container.h"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Writer = std::unique_ptr<ContainerWriter>;

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

// Two sections, one of them with padded rows, in a little more than 8 KiB.
std::string SmallContainer() {
  TempDir dir;
  Writer writer = *ContainerWriter::Create(dir.File("c"));
  REQUIRE(writer->Declare("matrix", Dtype::kFloat32, {2, 3}, /*padded_rows=*/true).ok());
  REQUIRE(writer->Declare("text", Dtype::kBytes, {5}).ok());
  const float matrix[] = {1, 2, 3, 4, 5, 6};
  REQUIRE(writer->Append({reinterpret_cast<const char*>(matrix), sizeof(matrix)}).ok());
  REQUIRE(writer->Append("hello").ok());
  REQUIRE(writer->Finish().ok());
  return *ReadFile(dir.File("c"));
}

TEST_CASE("the layout is the documented one, byte for byte") {
  const std::string bytes = SmallContainer();
  std::string rows[2];
  for (int row = 0; row < 2; ++row) {
    for (int column = 1; column <= 3; ++column) {
      PutNumber(static_cast<float>(3 * row + column), &rows[row]);
    }
    rows[row].resize(64, '\0');
  }
  RawContainer raw;
  raw.sections = {
      {"matrix", 2, 2, {2, 3}, 64, 4096, 128, {Crc32c(rows[0] + rows[1])}},
      {"text", 1, 1, {5}, 1, 8192, 5, {Crc32c("hello")}},
  };
  raw.tail = rows[0] + rows[1] + std::string(4096 - 128, '\0') + "hello";
  REQUIRE(bytes == raw.Bytes());
}

TEST_CASE("what was written is read, whatever the pieces") {
  TempDir dir;
  std::string large((size_t{5} << 19) + 11, '\0');  // three checksum blocks
  std::mt19937 random(1);
  for (char& c : large) c = static_cast<char>(random());
  const std::string wide(3 * 17 * 2, 'w');

  Writer writer = *ContainerWriter::Create(dir.File("c"));
  REQUIRE(writer->Declare("a/empty", Dtype::kInt64, {0}).ok());
  REQUIRE(writer->Declare("large", Dtype::kBytes, {static_cast<int64_t>(large.size())}).ok());
  REQUIRE(writer->Declare("none", Dtype::kFloat32, {0, 8}, true).ok());
  REQUIRE(writer->Declare("wide", Dtype::kFloat16, {3, 17}).ok());
  REQUIRE(writer->Declare("last.empty", Dtype::kBytes, {0}).ok());
  for (size_t at = 0; at < large.size();) {
    const size_t piece = std::min<size_t>(random() % 700'001, large.size() - at);
    REQUIRE(writer->Append(absl::string_view(large).substr(at, piece)).ok());
    at += piece;
  }
  for (int row = 0; row < 3; ++row) REQUIRE(writer->Append(wide.substr(0, 34)).ok());
  const auto summary = writer->Finish();
  REQUIRE(summary.ok());
  REQUIRE(summary->byte_count == *FileSize(dir.File("c")));
  REQUIRE(summary->sha256 == *Sha256HexOfFile(dir.File("c")));
  REQUIRE(*ListDirectory(dir.path()) == std::vector<std::string>{"c"});

  const auto container = *Container::Open(dir.File("c"));
  REQUIRE(container->Verify().ok());
  REQUIRE(container->sections().size() == 5);
  REQUIRE(container->file_length() == summary->byte_count);
  const Section& section = **container->Require("large", Dtype::kBytes, 1);
  REQUIRE(section.checksums.size() == 3);
  REQUIRE(container->Load(section, CallContext::Unbounded())->view() == large);
  const auto mapped = *Container::Map(dir.File("c"));
  REQUIRE(absl::string_view(mapped->Find("large")->data, section.length) == large);
  REQUIRE((*container->Require("wide", Dtype::kFloat16, 2))->row_stride_bytes == 34);
  REQUIRE(container->Find("a/empty")->length == 0);
  REQUIRE(container->Find("nothing") == nullptr);
  for (const Section& each : container->sections()) REQUIRE(each.offset % 4096 == 0);
}

TEST_CASE("a container without sections is one") {
  TempDir dir;
  REQUIRE((*ContainerWriter::Create(dir.File("c")))->Finish().ok());
  const auto container = *Container::Open(dir.File("c"));
  REQUIRE(container->sections().empty());
  REQUIRE(container->file_length() == 40);
  REQUIRE(container->Verify().ok());
}

TEST_CASE("padded rows start at multiples of 64 bytes and the gap is zero") {
  const std::string bytes = SmallContainer();
  const auto container = *Container::FromBytes(bytes);
  const Section& matrix = **container->Require("matrix", Dtype::kFloat32, 2);
  REQUIRE(matrix.row_stride_bytes == 64);
  REQUIRE(matrix.length == 128);
  float number = 0;
  std::memcpy(&number, matrix.data + 64 + 8, sizeof(number));
  REQUIRE(number == 6);
  REQUIRE(absl::string_view(matrix.data + 12, 52) == std::string(52, '\0'));
}

TEST_CASE("equal calls write equal bytes") {
  REQUIRE(SmallContainer() == SmallContainer());
}

TEST_CASE("every truncation and every added byte is refused") {
  const std::string bytes = SmallContainer();
  for (size_t length = 0; length < bytes.size(); ++length) {
    const ExactCopy prefix(absl::string_view(bytes).substr(0, length));
    const auto container = Container::FromBytes(prefix.view());
    if (!absl::IsDataLoss(container.status())) FAIL("length " << length);
  }
  REQUIRE(absl::IsDataLoss(Container::FromBytes(bytes + std::string(1, '\0')).status()));
}

TEST_CASE("every flipped bit is refused, by opening or by verifying") {
  const ExactCopy sound(SmallContainer());
  std::string bytes(sound.view());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto container = Container::FromBytes(bytes);
    if (container.ok() && (*container)->Verify().ok()) FAIL("bit " << bit);
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
  REQUIRE((*Container::FromBytes(bytes))->Verify().ok());
}

TEST_CASE("a table of random damage with right checksums never leads outside the file") {
  const std::string sound = SmallContainer();
  const size_t table_length = NumberAt<uint64_t>(sound, 16);
  std::mt19937 random(7);
  int opened = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = sound;
    for (int damage = 1 + static_cast<int>(random() % 3); damage > 0; --damage) {
      const size_t at = 12 + random() % (28 + table_length - 4);
      const uint32_t values[] = {0, 1, 2, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 4096, 64};
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(random());
      } else {
        PatchNumber(values[random() % 8], at, &bytes);
      }
    }
    const uint64_t length = std::min<uint64_t>(NumberAt<uint64_t>(bytes, 16), bytes.size() - 40);
    PatchNumber(Crc32c(absl::string_view(bytes).substr(40, length)), 32, &bytes);
    PatchNumber(Crc32c(absl::string_view(bytes).substr(0, 36)), 36, &bytes);
    const ExactCopy copy(bytes);
    const auto container = Container::FromBytes(copy.view());
    if (!container.ok()) continue;
    ++opened;
    (void)(*container)->Verify();
    for (const Section& section : (*container)->sections()) {
      const char* end = copy.view().data() + copy.view().size();
      if (section.data < copy.view().data() || section.length > end - section.data) {
        FAIL("round " << round << ", section " << section.name);
      }
    }
  }
  REQUIRE(opened > 100);  // or the damage tests nothing but the first check
}

TEST_CASE("lying tables are refused though all checksums are right") {
  REQUIRE((*Container::FromBytes(RawContainer().Bytes()))->Verify().ok());
  struct Lie {
    const char* what;
    const char* problem;  // as the message names it
    std::function<void(RawContainer&)> tell;
  };
  const std::vector<Lie> lies = {
      {"offset inside the table", "inside of something",
       [](RawContainer& c) { c.sections[0].offset = 0; }},
      {"offset not aligned", "inside of something",
       [](RawContainer& c) { c.sections[0].offset = 4095; }},
      {"offset past the end", "past the file's end",
       [](RawContainer& c) { c.sections[0].offset = 8192; }},
      {"offset negative", "an offset is",
       [](RawContainer& c) { c.sections[0].offset = ~uint64_t{4095}; }},
      {"offset near 2^63", "past the file's end",
       [](RawContainer& c) { c.sections[0].offset = (uint64_t{1} << 63) - 4096; }},
      {"length too large", "past the file's end",
       [](RawContainer& c) { c.sections[0].length = 4; }},
      {"length too small", "row stride", [](RawContainer& c) { c.sections[0].length = 2; }},
      {"length wraps", "a length is",
       [](RawContainer& c) { c.sections[0].length = UINT64_MAX - 4095; }},
      {"shape too large", "row stride", [](RawContainer& c) { c.sections[0].shape = {4}; }},
      {"shape too small", "row stride", [](RawContainer& c) { c.sections[0].shape = {2}; }},
      {"shape negative", "an extent is",
       [](RawContainer& c) { c.sections[0].shape = {UINT64_MAX}; }},
      {"shape overflows with its element size", "row stride",
       [](RawContainer& c) {
         c.sections[0] = {"s", 6, 2, {1, uint64_t{1} << 61}, 8, 4096, 3, {Crc32c("abc")}};
       }},
      {"rows overflow", "row stride",
       [](RawContainer& c) {
         c.sections[0] = {"s", 1, 2, {uint64_t{1} << 62, 4}, 4, 4096, 0, {}};
       }},
      {"any number of rows of nothing", "row stride",
       [](RawContainer& c) {
         c.sections[0] = {"s", 1, 2, {uint64_t{1} << 62, 0}, 0, 4096, 0, {}};
       }},
      {"stride of a lie", "row stride", [](RawContainer& c) { c.sections[0].row_stride = 3; }},
      {"stride zero", "row stride", [](RawContainer& c) { c.sections[0].row_stride = 0; }},
      {"stride neither tight nor padded", "row stride",
       [](RawContainer& c) {
         c.sections[0] = {"s", 1, 2, {1, 2}, 3, 4096, 3, {Crc32c("abc")}};
       }},
      {"rank 0", "rank 0",
       [](RawContainer& c) {
         c.sections[0].rank = 0;
         c.sections[0].shape = {};
       }},
      {"rank 3", "rank 3",
       [](RawContainer& c) {
         c.sections[0].rank = 3;
         c.sections[0].shape = {3, 1, 1};
       }},
      {"rank of a lie", "rank 4294967295",
       [](RawContainer& c) { c.sections[0].rank = 0xFFFFFFFF; }},
      {"no checksums", "0 checksums", [](RawContainer& c) { c.sections[0].checksums = {}; }},
      {"too many checksums", "2 checksums",
       [](RawContainer& c) { c.sections[0].checksums.resize(2); }},
      {"no name", "malformed section name", [](RawContainer& c) { c.sections[0].name = ""; }},
      {"long name", "malformed section name",
       [](RawContainer& c) { c.sections[0].name = std::string(201, 'n'); }},
      {"name with a blank", "malformed section name",
       [](RawContainer& c) { c.sections[0].name = "a b"; }},
      {"name with a zero", "malformed section name",
       [](RawContainer& c) { c.sections[0].name = std::string("a\0", 2); }},
      {"two of a name", "two sections named s",
       [](RawContainer& c) {
         c.sections.push_back({"s", 1, 1, {0}, 1, 8192, 0, {}});
         c.tail.resize(4096, '\0');
       }},
      {"overlap", "inside of something",
       [](RawContainer& c) {
         c.sections.push_back({"t", 1, 1, {3}, 1, 4096, 3, {Crc32c("abc")}});
       }},
      {"a section more", "ends too early", [](RawContainer& c) { c.extra_sections = 1; }},
      {"a section less", "longer than its sections",
       [](RawContainer& c) { c.extra_sections = -1; }},
      {"any number of sections", "at most 4096",
       [](RawContainer& c) { c.extra_sections = 0xFFFFFFF0; }},
      {"table too long", "checksum", [](RawContainer& c) { c.extra_table_length = 1; }},
      {"table past the file", "does not fit",
       [](RawContainer& c) { c.extra_table_length = 1 << 20; }},
      {"table of 2^64", "does not fit", [](RawContainer& c) { c.extra_table_length = -200; }},
      {"file too long", "truncated or padded", [](RawContainer& c) { c.extra_file_length = 1; }},
      {"bytes behind the last section", "sections end at",
       [](RawContainer& c) { c.tail = "abcd"; }},
      {"version 0", "version 0", [](RawContainer& c) { c.version = 0; }},
  };
  for (const Lie& lie : lies) {
    RawContainer raw;
    lie.tell(raw);
    const ExactCopy copy(raw.Bytes());
    const absl::Status status = Container::FromBytes(copy.view()).status();
    CAPTURE(lie.what, std::string(status.message()));
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(Mentions(status, lie.problem));
  }
}

TEST_CASE("a newer format is told from a broken one") {
  RawContainer raw;
  raw.version = 2;
  const auto status = Container::FromBytes(raw.Bytes()).status();
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE(Mentions(status, "version 2"));
  std::string broken = RawContainer().Bytes();
  broken[8] = 2;  // the same version, but the checksum says that it was 1
  REQUIRE(absl::IsDataLoss(Container::FromBytes(broken).status()));
  REQUIRE(absl::IsDataLoss(
      Container::FromBytes("GIF89a, and no container, " + std::string(40, ' ')).status()));
}

TEST_CASE("a section of an unknown dtype is carried along and never handed out") {
  RawContainer raw;
  raw.sections[0].dtype = 77;
  raw.sections[0].shape = {12345};
  const std::string bytes = raw.Bytes();
  const auto container = *Container::FromBytes(bytes);
  REQUIRE(container->Verify().ok());
  const auto section = container->Require("s", Dtype::kBytes, 1);
  REQUIRE(absl::IsDataLoss(section.status()));
  REQUIRE(Mentions(section.status(), "unknown"));
}

TEST_CASE("requiring a section names what is wrong with it") {
  const std::string bytes = SmallContainer();
  const auto container = *Container::FromBytes(bytes);
  REQUIRE(container->Require("text", Dtype::kBytes, 1).ok());
  REQUIRE(Mentions(container->Require("gone", Dtype::kBytes, 1).status(), "gone is missing"));
  REQUIRE(Mentions(container->Require("text", Dtype::kInt8, 1).status(), "text holds bytes"));
  REQUIRE(absl::IsDataLoss(container->Require("matrix", Dtype::kFloat32, 1).status()));
}

TEST_CASE("verification names the section and the place") {
  TempDir dir;
  Writer writer = *ContainerWriter::Create(dir.File("c"));
  REQUIRE(writer->Declare("first", Dtype::kBytes, {10}).ok());
  REQUIRE(writer->Declare("second", Dtype::kBytes, {3 << 20}).ok());
  REQUIRE(writer->Append(std::string(10, 'x')).ok());
  REQUIRE(writer->Append(std::string(3 << 20, 'y')).ok());
  REQUIRE(writer->Finish().ok());
  std::string bytes = *ReadFile(dir.File("c"));
  bytes[8192 + (2 << 20) + 5] ^= 1;
  Overwrite(dir.File("c"), bytes);
  const auto status = (*Container::Open(dir.File("c")))->Verify();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(Mentions(status, dir.File("c")));
  REQUIRE(Mentions(status, "second"));
  REQUIRE(Mentions(status, "bytes 2097152 to 3145728"));
}

TEST_CASE("verification stops when the call ends") {
  const std::string bytes = SmallContainer();
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled((*Container::FromBytes(bytes))->Verify(call)));
}

// How much of a file lies in the page cache.
double CachedShare(const std::string& path) {
  const auto file = MappedFile::Open(path);
  REQUIRE(file.ok());
  const absl::string_view bytes = (*file)->bytes();
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  REQUIRE(::mincore(const_cast<char*>(bytes.data()), bytes.size(), pages.data()) == 0);
  const auto cached = std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; });
  return static_cast<double>(cached) / static_cast<double>(pages.size());
}

// Or a server would have two copies of its vectors, and what else the cache held would go.
TEST_CASE("what was loaded into memory does not stay in the page cache, too") {
  constexpr int64_t kLength = int64_t{96} << 20;
  TempDir dir;
  Writer writer = *ContainerWriter::Create(dir.File("c"));
  REQUIRE(writer->Declare("large", Dtype::kBytes, {kLength}).ok());
  REQUIRE(writer->Append(std::string(kLength, 'x')).ok());
  REQUIRE(writer->Finish().ok());
  RandomAccessFile::Open(dir.File("c")).value()->DropFromCache(0, 2 * kLength);
  if (CachedShare(dir.File("c")) > 0.1) {
    WARN("this file system has nothing but its cache");
    return;
  }
  const auto container = Container::Open(dir.File("c"));
  REQUIRE(container.ok());
  const auto section = (*container)->Require("large", Dtype::kBytes, 1);
  REQUIRE(section.ok());
  REQUIRE((*container)->Load(**section, CallContext::Unbounded()).ok());
  REQUIRE(CachedShare(dir.File("c")) < 0.1);
}

TEST_CASE("the writer refuses what the format does not hold") {
  TempDir dir;
  Writer writer = *ContainerWriter::Create(dir.File("c"));
  const auto refused = [&](const absl::Status& status) { return absl::IsInvalidArgument(status); };
  REQUIRE(refused(writer->Declare("", Dtype::kBytes, {1})));
  REQUIRE(refused(writer->Declare("a b", Dtype::kBytes, {1})));
  REQUIRE(refused(writer->Declare(std::string(201, 'a'), Dtype::kBytes, {1})));
  REQUIRE(refused(writer->Declare("a", static_cast<Dtype>(99), {1})));
  REQUIRE(refused(writer->Declare("a", Dtype::kBytes, {})));
  REQUIRE(refused(writer->Declare("a", Dtype::kBytes, {1, 1, 1})));
  REQUIRE(refused(writer->Declare("a", Dtype::kBytes, {-1})));
  REQUIRE(refused(writer->Declare("a", Dtype::kBytes, {1, 0})));
  REQUIRE(refused(writer->Declare("a", Dtype::kBytes, {1}, /*padded_rows=*/true)));
  REQUIRE(refused(writer->Declare("a", Dtype::kInt64, {int64_t{1} << 61})));
  REQUIRE(refused(writer->Declare("a", Dtype::kInt64, {int64_t{1} << 40, int64_t{1} << 40})));
  REQUIRE(writer->Declare("a", Dtype::kInt32, {2, 2}).ok());
  REQUIRE(refused(writer->Declare("a", Dtype::kInt32, {2, 2})));
}

TEST_CASE("the writer takes whole rows of one section at a time, and all of them") {
  TempDir dir;
  Writer writer = *ContainerWriter::Create(dir.File("c"));
  REQUIRE(writer->Declare("a", Dtype::kInt32, {2, 2}).ok());
  REQUIRE(absl::IsInvalidArgument(writer->Append("1234")));
  REQUIRE(absl::IsInvalidArgument(writer->Append(std::string(24, 'x'))));
  REQUIRE(writer->Append("12345678").ok());
  REQUIRE(absl::IsFailedPrecondition(writer->Declare("b", Dtype::kBytes, {1})));
  REQUIRE(absl::IsFailedPrecondition(writer->Finish().status()));
  REQUIRE(writer->Append("12345678").ok());
  REQUIRE(absl::IsInvalidArgument(writer->Append("12345678")));
  REQUIRE_FALSE(FileExists(dir.File("c")));
  REQUIRE(writer->Finish().ok());
  REQUIRE(absl::IsFailedPrecondition(writer->Finish().status()));
}

TEST_CASE("a container that is not finished leaves nothing") {
  TempDir dir;
  {
    Writer writer = *ContainerWriter::Create(dir.File("c"));
    REQUIRE(writer->Declare("a", Dtype::kBytes, {4}).ok());
    REQUIRE(writer->Append("ab").ok());
  }
  REQUIRE(ListDirectory(dir.path())->empty());
  REQUIRE(absl::IsNotFound(Container::Open(dir.File("c")).status()));
}

}  // namespace
}  // namespace sightline
