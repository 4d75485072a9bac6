#include "common/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("errno becomes the code that says what the caller should do") {
  REQUIRE(absl::IsNotFound(FileError("open", "/x", ENOENT)));
  REQUIRE(absl::IsNotFound(FileError("open", "/x", ENOTDIR)));
  REQUIRE(absl::IsPermissionDenied(FileError("open", "/x", EACCES)));
  REQUIRE(absl::IsPermissionDenied(FileError("write", "/x", EROFS)));
  REQUIRE(absl::IsFailedPrecondition(FileError("open", "/x", EISDIR)));
  REQUIRE(absl::IsFailedPrecondition(FileError("open", "/x", ELOOP)));
  REQUIRE(absl::IsFailedPrecondition(FileError("write", "/x", EBADF)));
  REQUIRE(absl::IsFailedPrecondition(FileError("make folder", "/x", EEXIST)));
  REQUIRE(absl::IsInvalidArgument(FileError("open", "/x", ENAMETOOLONG)));
  REQUIRE(absl::IsResourceExhausted(FileError("write", "/x", ENOSPC)));
  REQUIRE(FileError("write", "/x", ENOSPC).message() ==
          "write /x: No space left on device; make room there");
  REQUIRE(absl::IsResourceExhausted(FileError("open", "/x", EMFILE)));
  REQUIRE(absl::IsUnavailable(FileError("read", "/x", EIO)));
  REQUIRE(FileError("open", "/x", ENOENT).message() == "open /x: No such file or directory");
}

TEST_CASE("a file is read back as it was written") {
  TempDir dir;
  const std::string content("a\0b\n", 4);
  REQUIRE(WriteFileAtomically(dir.File("f"), content).ok());
  REQUIRE(*ReadFile(dir.File("f")) == content);
  REQUIRE(*FileSize(dir.File("f")) == 4);
  REQUIRE(WriteFileAtomically(dir.File("f"), "").ok());
  REQUIRE(ReadFile(dir.File("f"))->empty());
}

TEST_CASE("a link to a file stays, and the file is another one") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("f"), "old").ok());
  REQUIRE(::symlink("f", dir.File("link").c_str()) == 0);
  REQUIRE(WriteFileAtomically(dir.File("link"), "new").ok());
  REQUIRE(*ReadFile(dir.File("f")) == "new");
  REQUIRE(std::filesystem::is_symlink(dir.File("link")));
  REQUIRE(*ListDirectory(dir.path()) == Names{"f", "link"});
  // Nothing is lost of one that leads nowhere.
  REQUIRE(::symlink("gone", dir.File("loose").c_str()) == 0);
  REQUIRE(WriteFileAtomically(dir.File("loose"), "new").ok());
  REQUIRE(*ReadFile(dir.File("loose")) == "new");
}

TEST_CASE("what is no file is written to as it is, or refused, and never replaced") {
  TempDir dir;
  const std::string pipe = dir.File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(WriteFileAtomically(pipe, "hello").ok());
  char buffer[8];
  REQUIRE(::read(reader, buffer, sizeof(buffer)) == 5);
  ::close(reader);
  REQUIRE(std::filesystem::is_fifo(pipe));
  // What is written piece by piece and at places needs a file.
  REQUIRE(absl::IsFailedPrecondition(AtomicFile::Create(pipe).status()));
  const absl::Status full = WriteFileAtomically("/dev/full", "x");
  REQUIRE(absl::IsResourceExhausted(full));
  REQUIRE(std::filesystem::is_character_file("/dev/full"));
  REQUIRE(absl::IsFailedPrecondition(WriteFileAtomically(dir.path(), "x")));
  // Files are files in memory, too.
  char memory[] = "/dev/shm/files_testXXXXXX";
  const int in_memory = ::mkstemp(memory);
  REQUIRE(in_memory >= 0);
  REQUIRE(AtomicFile::Create(memory).ok());
  ::close(in_memory);
  ::unlink(memory);
  // Behind what is printed already.
  const std::string out = dir.File("out");
  const int file = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(file, "before ", 7) == 7);
  REQUIRE(WriteFileAtomically("/dev/fd/" + std::to_string(file), "after").ok());
  ::close(file);
  REQUIRE(*ReadFile(out) == "before after");
  const std::string circle = dir.File("circle");
  REQUIRE(::symlink(circle.c_str(), circle.c_str()) == 0);
  REQUIRE(absl::IsFailedPrecondition(WriteFileAtomically(circle, "x")));
  REQUIRE(*ListDirectory(dir.path()) == Names{"circle", "out", "pipe"});
}

TEST_CASE("reading stops at the limit") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("f"), "12345").ok());
  REQUIRE(*ReadFile(dir.File("f"), 5) == "12345");
  const auto content = ReadFile(dir.File("f"), 4);
  REQUIRE(absl::IsResourceExhausted(content.status()));
  REQUIRE(std::string(content.status().message()).find("4 bytes") != std::string::npos);
}

TEST_CASE("reading stops at the limit where the size is not known beforehand") {
  // Files of /proc say that their size is 0.
  REQUIRE(ReadFile("/proc/self/status")->size() > 100);
  REQUIRE(absl::IsResourceExhausted(ReadFile("/proc/self/status", 10).status()));
}

TEST_CASE("what is not a regular file is refused, and never waited for") {
  TempDir dir;
  REQUIRE(::mkfifo(dir.File("pipe").c_str(), 0600) == 0);
  for (const std::string& path : {dir.path(), dir.File("pipe")}) {
    CAPTURE(path);
    REQUIRE(absl::IsFailedPrecondition(ReadFile(path).status()));
    REQUIRE(absl::IsFailedPrecondition(FileSize(path).status()));
    REQUIRE(absl::IsFailedPrecondition(MappedFile::Open(path).status()));
  }
  REQUIRE(absl::IsNotFound(ReadFile(dir.File("none")).status()));
  REQUIRE(absl::IsNotFound(FileSize(dir.File("none")).status()));
  REQUIRE(absl::IsNotFound(MappedFile::Open(dir.File("none")).status()));
}

TEST_CASE("a write replaces the file as a whole and leaves nothing beside it") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("f"), "old and long").ok());
  const auto mapped = MappedFile::Open(dir.File("f"));
  REQUIRE(WriteFileAtomically(dir.File("f"), "new").ok());
  REQUIRE(*ReadFile(dir.File("f")) == "new");
  REQUIRE((*mapped)->bytes() == "old and long");  // who reads the old file keeps it
  REQUIRE(*ListDirectory(dir.path()) == Names{"f"});
}

TEST_CASE("a write that fails leaves the old content and nothing beside it") {
  TempDir dir;
  REQUIRE(absl::IsNotFound(WriteFileAtomically(dir.File("no/f"), "x")));
  // A folder in the way makes the rename fail after everything was written.
  REQUIRE(MakeDirectories(dir.File("taken/inside")).ok());
  REQUIRE_FALSE(WriteFileAtomically(dir.File("taken"), "x").ok());
  REQUIRE(*ListDirectory(dir.path()) == Names{"taken"});
}

TEST_CASE("an atomic file is not there before Commit and never if dropped") {
  TempDir dir;
  {
    auto file = AtomicFile::Create(dir.File("f"));
    REQUIRE(file.ok());
    REQUIRE((*file)->WriteAt(0, "x").ok());
    REQUIRE_FALSE(FileExists(dir.File("f")));
    REQUIRE(FileExists((*file)->temporary_path()));
  }
  REQUIRE(ListDirectory(dir.path())->empty());
}

TEST_CASE("gaps of an atomic file are zero") {
  TempDir dir;
  auto file = AtomicFile::Create(dir.File("f"));
  REQUIRE((*file)->WriteAt(3, "b").ok());
  REQUIRE((*file)->WriteAt(0, "a").ok());
  REQUIRE((*file)->Resize(6).ok());
  REQUIRE((*file)->Commit().ok());
  REQUIRE(*ReadFile(dir.File("f")) == std::string("a\0\0b\0\0", 6));
  REQUIRE(absl::IsFailedPrecondition((*file)->Commit()));
}

TEST_CASE("writers of the same path do not disturb each other") {
  TempDir dir;
  auto first = AtomicFile::Create(dir.File("f"));
  auto second = AtomicFile::Create(dir.File("f"));
  REQUIRE((*first)->WriteAt(0, "first").ok());
  REQUIRE((*second)->WriteAt(0, "second").ok());
  REQUIRE((*second)->Commit().ok());
  REQUIRE((*first)->Commit().ok());
  REQUIRE(*ReadFile(dir.File("f")) == "first");
}

TEST_CASE("folders are made with their parents, and again without complaint") {
  TempDir dir;
  for (const char* name : {"a/b/c", "a/b/c", "a/b/c/", "a//d", ""}) {
    CAPTURE(name);
    REQUIRE(MakeDirectories(dir.File(name)).ok());
  }
  REQUIRE(*ListDirectory(dir.File("a")) == Names{"b", "d"});
  REQUIRE(WriteFileAtomically(dir.File("file"), "").ok());
  REQUIRE(absl::IsFailedPrecondition(MakeDirectories(dir.File("file"))));
  REQUIRE_FALSE(MakeDirectories(dir.File("file/below")).ok());
  REQUIRE(MakeDirectories("/").ok());
}

TEST_CASE("files below a folder come sorted, through links to files but not to folders") {
  TempDir dir;
  REQUIRE(MakeDirectories(dir.File("b/deep")).ok());
  REQUIRE(MakeDirectories(dir.File("empty")).ok());
  for (const char* name : {"b/deep/2", "b/1", "a", "b.c"}) {
    REQUIRE(WriteFileAtomically(dir.File(name), "x").ok());
  }
  namespace fs = std::filesystem;
  fs::create_symlink(dir.File("a"), dir.File("link"));
  fs::create_symlink(dir.File("nothing"), dir.File("broken"));
  fs::create_directory_symlink(dir.path(), dir.File("b/loop"));
  REQUIRE(*ListFilesBelow(dir.path()) == Names{"a", "b.c", "b/1", "b/deep/2", "link"});
  REQUIRE(*ListFilesBelow(dir.path() + "/") == Names{"a", "b.c", "b/1", "b/deep/2", "link"});
  REQUIRE(*ListDirectory(dir.File("b")) == Names{"1", "deep", "loop"});
  REQUIRE(absl::IsNotFound(ListFilesBelow(dir.File("none")).status()));
  REQUIRE(absl::IsNotFound(ListDirectory(dir.File("a")).status()));
}

TEST_CASE("temporary files that are old enough are removed, and nothing else") {
  TempDir dir;
  REQUIRE(MakeDirectories(dir.File("b")).ok());
  for (const char* name : {"a.1.0.tmp", "b/c.1.0.tmp", "b/c", "tmp"}) {
    REQUIRE(WriteFileAtomically(dir.File(name), "x").ok());
  }
  REQUIRE(RemoveTemporaryFiles(dir.path(), absl::UnixEpoch()).ok());
  REQUIRE(ListFilesBelow(dir.path())->size() == 4);
  REQUIRE(RemoveTemporaryFiles(dir.path(), absl::InfiniteFuture()).ok());
  REQUIRE(*ListFilesBelow(dir.path()) == Names{"b/c", "tmp"});
  REQUIRE(absl::IsNotFound(RemoveTemporaryFiles(dir.File("none"), absl::InfiniteFuture())));
}

TEST_CASE("paths are joined with one slash") {
  REQUIRE(JoinPath("a", "b") == "a/b");
  REQUIRE(JoinPath("a/", "b") == "a/b");
  REQUIRE(JoinPath("a//", "/b/c") == "a/b/c");
  REQUIRE(JoinPath("/", "b") == "/b");
  REQUIRE(JoinPath("", "b") == "b");
  REQUIRE(JoinPath("a", "") == "a");
}

TEST_CASE("a mapped file shows the content, an empty one too") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("f"), "content").ok());
  REQUIRE(WriteFileAtomically(dir.File("empty"), "").ok());
  REQUIRE((*MappedFile::Open(dir.File("f")))->bytes() == "content");
  REQUIRE((*MappedFile::Open(dir.File("empty")))->bytes().empty());
}

}  // namespace
}  // namespace sightline
