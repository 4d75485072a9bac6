// Writes all samples below a folder, as the code that it is built of writes them.
//
//   write_samples DIRECTORY
#include <iostream>
#include <stdexcept>
#include <string>

#include "common/base/files.h"
#include "tests/compatibility/store_samples.h"
#include "tests/compatibility/wire_samples.h"

namespace sightline {
namespace {

void Write(const std::string& path, const std::string& bytes) {
  absl::Status status = MakeDirectories(path.substr(0, path.rfind('/')));
  if (status.ok()) status = WriteFileAtomically(path, bytes);
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void WriteSamples(const std::string& directory) {
  WriteStoreSamples(directory);
  for (const WireSample& sample : WireSamples()) {
    Write(JoinPath(directory, sample.name), sample.bytes);
  }
  Write(JoinPath(directory, kSharedProtosFile), SharedProtos().SerializeAsString());
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_samples DIRECTORY\n";
    return 2;
  }
  try {
    sightline::WriteSamples(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
