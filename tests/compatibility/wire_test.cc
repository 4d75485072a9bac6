// Programs of two releases understand each other: while a fleet is updated, each asks and
// answers the other.
//
// That today's writer makes the bytes that were made then says that the earlier release reads
// what this one sends.  That the bytes come back when they are read and written says that this
// one reads what the earlier sent: a value that was lost or mistaken would be written otherwise.
#include "tests/compatibility/wire_samples.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/compatibility/coverage.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kSamples[] = "tests/testdata/compatibility";

std::string Stored(const std::string& name) {
  const auto bytes = ReadFile(JoinPath(kSamples, name));
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  return *bytes;
}

TEST_CASE("what is sent is what was sent") {
  for (const WireSample& sample : WireSamples()) {
    INFO(sample.name);
    CHECK((sample.bytes == Stored(sample.name)));
  }
}

TEST_CASE("what was sent is understood") {
  for (const WireSample& sample : WireSamples()) {
    INFO(sample.name);
    const std::string stored = Stored(sample.name);
    const auto again = sample.read_and_written(stored);
    INFO(again.status());
    CHECK((again.ok() && *again == stored));
  }
}

TEST_CASE("no sample is left out") {
  std::set<std::string> known;
  for (const WireSample& sample : WireSamples()) known.insert(sample.name);
  const auto files = ListFilesBelow(JoinPath(kSamples, "wire"));
  REQUIRE(files.ok());
  CHECK(files->size() == known.size());
  for (const std::string& file : *files) {
    INFO(file);
    CHECK(known.count(absl::StrCat("wire/", file)) == 1);
  }
}

TEST_CASE("every field and every value of the wire is in a sample") {
  Names set, could;
  for (const WireSample& sample : WireSamples()) {
    if (sample.type == nullptr) continue;
    const std::unique_ptr<google::protobuf::Message> message(sample.type->New());
    REQUIRE(message->ParseFromString(Stored(sample.name)));
    AddWhatIsSet(*message, &set);
    could.merge(WhatCouldBeSet(*sample.type->GetDescriptor()->file()));
    for (int i = 0; i < sample.type->GetDescriptor()->file()->dependency_count(); ++i) {
      const auto& shared = *sample.type->GetDescriptor()->file()->dependency(i);
      if (shared.package() == "sightline.v1") could.merge(WhatCouldBeSet(shared));
    }
  }
  Names missing;
  std::set_difference(could.begin(), could.end(), set.begin(), set.end(),
                      std::inserter(missing, missing.end()));
  for (const std::string& name : missing) FAIL_CHECK(name << " is in no sample");
  CHECK(could.size() > 150);
}

}  // namespace
}  // namespace sightline
