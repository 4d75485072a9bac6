#include "common/bundle/tag_postings.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/shard_writer.h"
#include "common/bundle/tag_filter.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kVectors[] = "shards/00000-of-00001.vectors";

using Tags = std::vector<std::string>;

// A shard whose items have these tags, by number.
struct Shard {
  explicit Shard(const std::vector<Tags>& tags) : tags(tags) {
    std::vector<EncodedItem> items(tags.size());
    for (size_t i = 0; i < tags.size(); ++i) {
      std::string number = std::to_string(i);
      items[i].record.item_id = std::string(8 - number.size(), '0') + number;
      items[i].record.tags = tags[i];
      items[i].embedding = {1};
    }
    manifest = *WriteShard(dir.path(), 0, 1, 1, {}, std::move(items));
    vectors = Open(dir.File(kVectors));
    postings = *TagPostings::Build(*vectors, CallContext::Unbounded());
  }

  std::unique_ptr<ShardVectors> Open(const std::string& path) const {
    auto opened = *ShardVectors::Open(path, manifest, 1);
    REQUIRE(opened->Load(CallContext::Unbounded()).ok());
    return opened;
  }

  std::vector<int64_t> Expected(const TagFilter& filter) const {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < tags.size(); ++i) {
      if (Passes(filter, tags[i])) {
        rows.push_back(static_cast<int64_t>(i));
      }
    }
    return rows;
  }

  // Holds the set to what a look at every record finds, and to its own promises.
  void Check(const TagFilter& filter) const {
    const RowSet set = postings.Matching(filter);
    std::vector<int64_t> rows;
    set.ForEach([&rows](int64_t row) { rows.push_back(row); });
    REQUIRE(rows == Expected(filter));
    REQUIRE(set.count() == static_cast<int64_t>(rows.size()));
    REQUIRE(set.universe() == static_cast<int64_t>(tags.size()));
    // Whichever takes less.
    const int64_t share = set.count() * RowSet::kLeastRowsOfList;
    if (share > set.universe() + 64 * 64) REQUIRE_FALSE(set.is_list());
    if (share < set.universe()) REQUIRE(set.is_list());
  }

  TempDir dir;
  std::vector<Tags> tags;
  bundle::v1::ShardManifest manifest;
  std::unique_ptr<ShardVectors> vectors;
  TagPostings postings;
};

// Tag "a<n>" is on one item of 2^n, "b<n>" on about as many, others; "one<i>" on item i alone.
Shard ManyTags(int items) {
  std::mt19937 random(9);
  std::vector<Tags> tags(static_cast<size_t>(items));
  for (int i = 0; i < items; ++i) {
    for (int n = 0; n < 13; ++n) {
      if (i % (1 << n) == 0) tags[i].push_back("a" + std::to_string(n));
      if (random() % (1u << n) == 0) tags[i].push_back("b" + std::to_string(n));
    }
    if (i % 100 == 7) tags[i].push_back("one" + std::to_string(i));
    if (i % 50 == 3) tags[i].insert(tags[i].begin(), "a1");  // twice on some
  }
  return Shard(tags);
}

TEST_CASE("any, all and none find what a look at every record finds") {
  const Shard shard = ManyTags(GENERATE(1, 64, 129, 5000));
  const std::vector<std::string> pool = {"a0", "a1",  "a2",   "a5",      "a6",
                                         "a7", "a12", "b0",   "b1",      "b3",
                                         "b6", "b9",  "one7", "one4907", "not there"};
  for (const std::string& tag : pool) {
    CAPTURE(tag);
    shard.Check({{tag}, {}, {}});
    shard.Check({{}, {tag}, {}});
    shard.Check({{}, {}, {tag}});
  }
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    TagFilter filter;
    for (std::vector<std::string>* list : {&filter.any, &filter.all, &filter.none}) {
      for (int count = static_cast<int>(random() % 4); count > 0; --count) {
        list->push_back(pool[random() % pool.size()]);
      }
    }
    if (filter.empty()) continue;
    CAPTURE(round);
    shard.Check(filter);
  }
}

TEST_CASE("tags are compared byte by byte") {
  const Shard shard(
      {{"Red"}, {"red"}, {"red "}, {""}, {}, {"r\xC3\xA9"}, {std::string("red\0", 4)}});
  for (const std::string& tag : {std::string("Red"), std::string("red"), std::string("red "),
                                 std::string(), std::string("r\xC3\xA9"), std::string("red\0", 4),
                                 std::string("re"), std::string("redd")}) {
    CAPTURE(tag);
    shard.Check({{tag}, {}, {}});
    shard.Check({{}, {}, {tag}});
  }
  CHECK(shard.postings.tag_count() == 6);
}

TEST_CASE("a shard without tags, and one without items, let nothing through but by `none`") {
  for (const Shard& shard : {Shard({}), Shard({{}, {}, {}})}) {
    shard.Check({{"a"}, {}, {}});
    shard.Check({{}, {"a"}, {}});
    shard.Check({{}, {}, {"a"}});
    CHECK(shard.postings.tag_count() == 0);
  }
}

TEST_CASE("postings take a small share of what tags take in the file") {
  const Shard shard = ManyTags(5000);
  const auto stored = static_cast<int64_t>(shard.vectors->StoredTagSection().size());
  CHECK(shard.postings.byte_count() < stored);
  CHECK(shard.postings.byte_count() > stored / 100);
}

TEST_CASE("postings of tags that all differ and are short take no more than is told") {
  std::vector<Tags> singles(3000);
  for (size_t i = 0; i < singles.size(); ++i) {
    singles[i] = {std::string(1, static_cast<char>('a' + i % 26)) +
                  static_cast<char>('a' + i / 26 % 26) + static_cast<char>('a' + i / 676)};
  }
  const Shard worst(singles);
  const auto told = [](const Shard& shard) {
    return TagPostings::MostBytes(static_cast<int64_t>(shard.vectors->StoredTagSection().size()));
  };
  CHECK(worst.postings.byte_count() > 2 * 3000 * 7);  // of 3000 x 7 stored
  CHECK(worst.postings.byte_count() <= told(worst));
  const PeakAllocation peak;
  REQUIRE(TagPostings::Build(*worst.vectors, CallContext::Unbounded()).ok());
  CHECK(peak.bytes() <= worst.postings.byte_count() + 3000 * 48 + 4096);

  // Shorter ones that differ, as many as there are.
  std::vector<Tags> shortest(1, Tags{""});
  for (char byte = 0; byte < 127; ++byte) shortest[0].push_back(std::string(1, byte));
  const Shard least(shortest);
  CHECK(least.postings.byte_count() == 128 * 20 + 8);
  CHECK(least.postings.byte_count() <= told(least));
  CHECK(told(least) == (128 + 1) * 20 + 8);
  CHECK(Shard({}).postings.byte_count() <= TagPostings::MostBytes(0));
  // Beyond what there are of three bytes the bound is that of longer ones.
  CHECK(TagPostings::MostBytes(int64_t{1} << 40) < (int64_t{1} << 40) * 5 / 2);
  CHECK(TagPostings::MostBytes(INT64_MAX / 8) > 0);
}

TEST_CASE("tags and offsets that lie are damage, and never more memory than there are") {
  const Shard shard = ManyTags(200);
  const std::string sound = *ReadFile(shard.dir.File(kVectors));
  const auto build = [&](const std::string& bytes) {
    Overwrite(shard.dir.File("tampered"), bytes);
    const auto vectors = shard.Open(shard.dir.File("tampered"));
    return TagPostings::Build(*vectors, CallContext::Unbounded()).status();
  };
  std::string bytes = sound;
  bytes[RepairChecksums(&bytes, "tags").offset + 3] = '\x7f';
  RepairChecksums(&bytes);
  CHECK(absl::IsDataLoss(build(bytes)));
  for (const int64_t lie : {int64_t{-1}, INT64_MAX, int64_t{1} << 40}) {
    bytes = sound;
    PatchNumber(lie, RepairChecksums(&bytes, "tags/offsets").offset + 8 * 5, &bytes);
    RepairChecksums(&bytes);
    CHECK(absl::IsDataLoss(build(bytes)));
  }
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    bytes = sound;
    const Place place = RepairChecksums(&bytes, "tags");
    for (int i = 0; i < 5; ++i) {
      bytes[place.offset + random() % place.length] = static_cast<char>(random());
    }
    RepairChecksums(&bytes);
    const absl::Status status = build(bytes);
    REQUIRE((status.ok() || absl::IsDataLoss(status)));
  }
}

TEST_CASE("a build is given up when its call is") {
  const Shard shard = ManyTags(100);
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(TagPostings::Build(*shard.vectors, call).status()));
}

}  // namespace
}  // namespace sightline
