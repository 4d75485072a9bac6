#include "common/object_store/sigv4.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;
using Catch::EndsWith;

absl::Time At(const char* text) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) throw std::runtime_error(text);
  return time;
}

// --- the examples of the S3 API reference ---

const AwsKeys kS3Keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const SigningScope kS3Scope{"us-east-1", "s3"};
constexpr char kS3Host[] = "examplebucket.s3.amazonaws.com";

std::string S3Authorization(const UnsignedRequest& request, absl::string_view body) {
  return SignedHeaders(request, Sha256Hex(body), kS3Keys, kS3Scope, At("2013-05-24T00:00:00Z"))
      .back()
      .second;
}

TEST_CASE("S3's example: the first bytes of an object") {
  CHECK(
      S3Authorization({"GET", "/test.txt", {}, {{"Host", kS3Host}, {"Range", "bytes=0-9"}}}, "") ==
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("S3's example: an object whose name has to be encoded is written") {
  CHECK_THAT(S3Authorization({"PUT",
                              "/test$file.text",
                              {},
                              {{"Host", kS3Host},
                               {"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                               {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}},
                             "Welcome to Amazon S3."),
             EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_CASE("S3's example: a parameter without a value") {
  CHECK_THAT(S3Authorization({"GET", "/", {{"lifecycle", ""}}, {{"Host", kS3Host}}}, ""),
             EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST_CASE("S3's example: parameters in whatever order") {
  NamesAndValues query = {{"prefix", "J"}, {"max-keys", "2"}};
  for (int i = 0; i < 2; ++i) {
    CHECK_THAT(S3Authorization({"GET", "/", query, {{"Host", kS3Host}}}, ""),
               EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    std::reverse(query.begin(), query.end());
  }
}

// --- cases of AWS's general test suite for version 4 ---

struct SuiteCase {
  const char* name;
  UnsignedRequest request;
  const char* signature;
};

TEST_CASE("AWS's test suite of signatures") {
  const AwsKeys keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  const std::pair<std::string, std::string> host{"Host", "example.amazonaws.com"};
  const std::pair<std::string, std::string> date{"X-Amz-Date", "20150830T123600Z"};
  const SuiteCase cases[] = {
      {"get-vanilla",
       {"GET", "/", {}, {host, date}},
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"post-vanilla",
       {"POST", "/", {}, {host, date}},
       "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"get-vanilla-query-order-key-case",
       {"GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}}, {host, date}},
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-utf8-query",
       {"GET", "/", {{"\u1234", "bar"}}, {host, date}},
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-utf8",
       {"GET", "/\u1234", {}, {host, date}},
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-unreserved",
       {"GET",
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        {},
        {host, date}},
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-header-value-trim",
       {"GET", "/", {}, {host, {"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}, date}},
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-header-key-duplicate",
       {"GET",
        "/",
        {},
        {host, {"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}, date}},
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
  };
  for (const SuiteCase& one : cases) {
    INFO(one.name);
    CHECK_THAT(Authorization(one.request, Sha256Hex(""), keys, {"us-east-1", "service"},
                             At("2015-08-30T12:36:00Z")),
               EndsWith(one.signature));
  }
}

// --- what the examples leave open ---

TEST_CASE("A session's token is sent and signed") {
  AwsKeys keys = kS3Keys;
  keys.session_token = "a session";
  const NamesAndValues headers = SignedHeaders({"GET", "/", {}, {{"host", kS3Host}}}, Sha256Hex(""),
                                               keys, kS3Scope, At("2013-05-24T00:00:00Z"));
  CHECK(std::count(headers.begin(), headers.end(),
                   std::pair<std::string, std::string>("x-amz-security-token", "a session")) == 1);
  CHECK_THAT(headers.back().second,
             Contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
}

TEST_CASE("No header has the secret") {
  for (const auto& [name, value] :
       SignedHeaders({"GET", "/", {}, {{"host", kS3Host}}}, Sha256Hex(""), kS3Keys, kS3Scope,
                     At("2013-05-24T00:00:00Z"))) {
    CHECK_FALSE(absl::StrContains(value, kS3Keys.secret_access_key));
  }
}

TEST_CASE("Each byte is encoded once, slashes where they are none of a path") {
  CHECK(UriEncode("a b+c/%2F\xC3\xA9~", true) == "a%20b%2Bc/%252F%C3%A9~");
  CHECK(UriEncode("a/b", false) == "a%2Fb");
  CHECK(UriEncode(std::string("\0\xFF", 2), true) == "%00%FF");
}

TEST_CASE("Parameters are in the order of their encoded names, then values") {
  CHECK(CanonicalQuery({{"b", "2"}, {"a/", "x"}, {"b", "10"}, {"a-", ""}}) ==
        "a%2F=x&a-=&b=10&b=2");
}

}  // namespace
}  // namespace sightline
