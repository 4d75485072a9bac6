#include "common/rpc/request_memory.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sightline/v1/admin.pb.h"
#include "sightline/v1/index_search.pb.h"
#include "sightline/v1/query_encoder.pb.h"
#include "sightline/v1/reranker.pb.h"
#include "sightline/v1/search.pb.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using google::protobuf::Message;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

absl::optional<int64_t> Memory(const std::string& bytes, const Message& type, int64_t most = kAll,
                               int block_size = -1) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()),
                                               block_size);
  return MemoryOfMessage(&input, static_cast<int64_t>(bytes.size()), *type.GetDescriptor(), most);
}

std::string Repeat(const std::string& bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

// A field of that number around `bytes`, of less than 128 bytes.
std::string Block(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) +
         std::string(1, static_cast<char>(bytes.size())) + bytes;
}

template <typename Request>
void CheckParse(const std::string& what, const std::string& bytes) {
  INFO(what);
  const absl::optional<int64_t> told = Memory(bytes, Request());
  REQUIRE(told.has_value());
  CHECK(Memory(bytes, Request(), kAll, 7) == told);
  const PeakAllocation peak;
  Request request;
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()), 4096);
  REQUIRE(request.ParseFromBoundedZeroCopyStream(&input, static_cast<int>(bytes.size())));
  const int64_t taken = peak.bytes();
  INFO(bytes.size() << " bytes, told " << *told << ", taken " << taken);
  CHECK(taken <= *told);
  CHECK(static_cast<int64_t>(request.SpaceUsedLong()) <= *told);
}

constexpr int kMany = 50000;

TEST_CASE("A request of many small fields takes no more than was told") {
  CheckParse<v1::ScorePairsRequest>("empty texts", Repeat(Block(2, ""), kMany));
  CheckParse<v1::ScorePairsRequest>("texts of one byte", Repeat(Block(2, Block(1, "x")), kMany));
  CheckParse<v1::ScorePairsRequest>("items", Repeat(Block(2, Block(2, "")), kMany));
  CheckParse<v1::ScorePairsRequest>(
      "long ids", Repeat(Block(2, Block(2, Block(2, std::string(100, 'x')))), kMany));
  CheckParse<v1::ScorePairsRequest>("regions", Repeat(Block(3, Block(2, Block(1, ""))), kMany));
  CheckParse<v1::ScorePairsRequest>("an unknown field in each",
                                    Repeat(Block(2, Block(15, "")), kMany));
  CheckParse<v1::GetItemsRequest>("empty ids", Repeat(Block(2, ""), kMany));
  CheckParse<v1::GetItemsRequest>("unknown, empty", Repeat(Block(15, ""), kMany));
  CheckParse<v1::GetItemsRequest>("unknown, short", Repeat(Block(15, std::string(16, 'x')), kMany));
  CheckParse<v1::GetItemsRequest>("unknown numbers", Repeat("\x78\x01", kMany));
  CheckParse<v1::GetItemsRequest>("unknown groups", Repeat("\x7b\x7c", kMany));
  CheckParse<v1::GetItemsRequest>("numbers in groups", Repeat("\x7b\x08\x01\x7c", kMany));
  CheckParse<v1::GetItemsRequest>("a number where a string is wanted", Repeat("\x10\x01", kMany));
  CheckParse<v1::FetchItemsRequest>("rows, one by one", Repeat("\x20\x01", kMany));
  v1::FetchItemsRequest packed;
  for (int i = 0; i < kMany; ++i) packed.add_rows(i % 100);
  CheckParse<v1::FetchItemsRequest>("rows, packed", packed.SerializeAsString());
  CheckParse<v1::FetchItemsRequest>("rows, in pieces", Repeat(Block(4, Repeat("\x01", 9)), kMany));
  CheckParse<v1::RerankCandidatesRequest>("tensors",
                                          Repeat(Block(4, Block(2, Block(1, ""))), kMany));
  CheckParse<v1::EncodeQueriesRequest>("queries", Repeat(Block(2, ""), kMany));
  CheckParse<v1::GetStatusRequest>("uses", Repeat(Block(2, Block(1, "")), kMany));
  CheckParse<v1::GetStatusRequest>("unknown in uses",
                                   Repeat(Block(2, Block(1, "\x78\x01")), kMany));
  CheckParse<v1::SearchItemsRequest>("one text again and again",
                                     Repeat(Block(2, Block(1, "a red fish in the sea")), kMany));
}

TEST_CASE("Ordinary requests take a little more than they are long") {
  constexpr int64_t kLength = 1 << 20;
  v1::SearchItemsRequest picture;
  picture.mutable_query()->set_image(std::string(kLength, 'x'));
  CheckParse<v1::SearchItemsRequest>("picture", picture.SerializeAsString());
  CHECK(*Memory(picture.SerializeAsString(), picture) < kLength + 2000);

  v1::RerankCandidatesRequest rerank;
  v1::FeatureTensor* tensor = rerank.add_candidates()->mutable_features()->add_tensors();
  tensor->set_name("regions");
  tensor->set_data(std::string(kLength, 'x'));
  CheckParse<v1::RerankCandidatesRequest>("features", rerank.SerializeAsString());
  CHECK(*Memory(rerank.SerializeAsString(), rerank) < kLength + 2000);

  v1::SearchItemsRequest text;
  text.mutable_query()->set_text("a red fish");
  CHECK(*Memory(text.SerializeAsString(), text) < 2000);
}

TEST_CASE("What conversions copy counts as often as it can be there") {
  constexpr int64_t kLength = 1 << 20;
  v1::SearchItemsRequest text;
  text.mutable_query()->set_text(std::string(kLength, 'x'));
  CHECK(*Memory(text.SerializeAsString(), text) >= 2 * kLength);
  v1::SearchItemsRequest regions;
  v1::PackedVectors* features = regions.mutable_query()->mutable_regions()->mutable_features();
  features->set_data(std::string(kLength, 'x'));
  CHECK(*Memory(regions.SerializeAsString(), regions) >= 3 * kLength);
  CHECK(*Memory(regions.SerializeAsString(), regions) < 3 * kLength + 2000);
}

TEST_CASE("Counting ends once it is too much, and takes no memory") {
  const std::string bytes = Repeat(Block(2, ""), kMany);
  const v1::ScorePairsRequest type;
  const int64_t all = *Memory(bytes, type);
  const PeakAllocation peak;
  const absl::optional<int64_t> some = Memory(bytes, type, 10000);
  CHECK(Memory(bytes, type) == all);
  CHECK(peak.bytes() == 0);
  REQUIRE(some.has_value());
  CHECK(*some > 10000);
  CHECK(*some < 11000);
}

TEST_CASE("Bytes that are no message are told from those that are, as protobuf does") {
  const std::string nested = Block(2, Block(1, "x"));
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"empty", ""},
      {"a text", nested},
      {"a length beyond the end", nested.substr(0, 3)},
      {"a length beyond its message", "\x12\x02\x0a\x02xxxx"},
      {"a great length", "\x12\xff\xff\xff\xff\x07xxxx"},
      {"a length of 64 bits", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xxxx"},
      {"field zero", Block(0, "")},
      {"a zero", std::string("\x00", 1)},
      {"a zero in a message", std::string("\x12\x01\x00", 3)},
      {"a type that there is not", "\x7e"},
      {"an end without a begin", "\x7c"},
      {"a begin without an end", "\x7b"},
      {"another end", "\x7b\x74"},
      {"a number that is cut", "\x78\xff"},
      {"a number without end", "\x78" + Repeat("\xff", 11)},
      {"eight bytes", "\x79" + Repeat("\xff", 8)},
      {"seven bytes of eight", "\x79" + Repeat("\xff", 7)},
      {"four bytes", "\x7d" + Repeat("\xff", 4)},
      {"three bytes of four", "\x7d" + Repeat("\xff", 3)},
      {"100 groups", Repeat("\x7b", 100) + Repeat("\x7c", 100)},
      {"101 groups", Repeat("\x7b", 101) + Repeat("\x7c", 101)},
  };
  for (const auto& [what, bytes] : inputs) {
    INFO(what);
    v1::SearchItemsRequest request;
    CHECK(Memory(bytes, request).has_value() == request.ParseFromString(bytes));
    CHECK(Memory(bytes, request, kAll, 1).has_value() == request.ParseFromString(bytes));
  }
  // Of many groups in each other only the count is kept.
  CHECK(!Memory(Repeat("\x7b", 1 << 20), v1::SearchItemsRequest()).has_value());
}

}  // namespace
}  // namespace sightline
