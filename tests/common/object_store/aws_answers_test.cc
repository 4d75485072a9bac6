#include "common/object_store/aws_answers.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

std::string ListOf(absl::string_view content) {
  return absl::StrCat(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
      content, "</ListBucketResult>");
}

std::string Object(absl::string_view key, absl::string_view size = "7",
                   absl::string_view time = "2026-01-02T03:04:05.000Z") {
  return absl::StrCat("<Contents><Key>", key, "</Key><LastModified>", time,
                      "</LastModified><ETag>&quot;e&quot;</ETag><Size>", size,
                      "</Size></Contents>");
}

TEST_CASE("A page has keys, sizes, times and the token of the next") {
  const auto page = ReadObjectPage(
      ListOf(absl::StrCat("<IsTruncated>true</IsTruncated><NextContinuationToken>1/x+y=</"
                          "NextContinuationToken>",
                          Object("a"), Object("b &amp; c", "0"))));
  REQUIRE(page.ok());
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "a");
  CHECK(page->objects[0].byte_count == 7);
  CHECK(page->objects[0].write_time ==
        absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone()));
  CHECK(page->objects[1].key == "b & c");
  CHECK(page->next == "1/x+y=");
}

TEST_CASE("Keys are decoded where the page says that they are encoded, and only there") {
  const std::string key = "a%2Fb+c%2B%E2%82%AC%00";
  const auto encoded = ReadObjectPage(ListOf("<EncodingType>url</EncodingType>" + Object(key)));
  REQUIRE(encoded.ok());
  CHECK(encoded->objects[0].key == std::string("a/b c+\xE2\x82\xAC\0", 10));
  CHECK(ReadObjectPage(ListOf(Object(key)))->objects[0].key == key);
  for (const char* const broken : {"%", "%2", "a%zz", "%%20"}) {
    INFO(broken);
    CHECK(absl::IsUnavailable(
        ReadObjectPage(ListOf("<EncodingType>url</EncodingType>" + Object(broken))).status()));
  }
}

TEST_CASE("A page that lacks what it must have is none") {
  const std::string truncated = "<IsTruncated>true</IsTruncated>";
  for (const std::string& body :
       {std::string(), std::string("<html><body>Welcome</body></html>"), std::string("no XML"),
        std::string("<ListBucketResult>"), std::string("<ListBucketResult><Contents>"),
        ListOf(Object("")), ListOf(Object("a", "")), ListOf(Object("a", "-1")),
        ListOf(Object("a", "7", "")), ListOf(Object("a", "99999999999999999999")),
        ListOf(Object("a", "7", "yesterday")), ListOf(truncated + Object("a"))}) {
    INFO(body);
    CHECK(absl::IsUnavailable(ReadObjectPage(body).status()));
  }
}

TEST_CASE("An answer that was cut anywhere is none") {
  const std::string whole = ListOf(Object("a"));
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK_FALSE(ReadObjectPage(whole.substr(0, length)).ok());
  }
}

TEST_CASE("Hostile XML costs little and is refused") {
  CHECK_FALSE(ReadObjectPage(std::string(kMaxListBytes + 1, ' ')).ok());
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "<a>";
  CHECK_FALSE(ReadObjectPage(deep).ok());
  CHECK(ReadAwsError(deep.substr(0, 60'000)).code.empty());
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
      "<!ENTITY c SYSTEM \"file:///etc/passwd\">]>" +
      ListOf(Object("&b;&c;"));
  const auto page = ReadObjectPage(bomb);
  REQUIRE(page.ok());
  CHECK(page->objects[0].key == "&b;&c;");  // as it stands there
}

TEST_CASE("Errors of S3 and of STS are read; what is none has no code") {
  const AwsError moved = ReadAwsError(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-west-1"
      "</Region></Error>");
  CHECK(moved.code == "AuthorizationHeaderMalformed");
  CHECK(moved.message == "m");
  CHECK(moved.region == "eu-west-1");
  const AwsError sts = ReadAwsError(
      "<ErrorResponse xmlns=\"x\"><Error><Type>Sender</Type><Code>AccessDenied</Code>"
      "<Message>no</Message></Error></ErrorResponse>");
  CHECK(sts.code == "AccessDenied");
  CHECK(sts.message == "no");
  CHECK(ReadAwsError("<html/>").code.empty());
  CHECK(ReadAwsError("").code.empty());
}

TEST_CASE("What is quoted of an error is bounded and UTF-8") {
  const AwsError error = ReadAwsError(absl::StrCat("<Error><Code>C</Code><Message>\xFF",
                                                   std::string(10'000, 'm'), "</Message></Error>"));
  CHECK(error.message.size() <= 300);
  CHECK_THAT(error.message, Contains("\xEF\xBF\xBD"));
}

TEST_CASE("Uploads are read with their markers") {
  const std::string upload =
      "<Upload><Key>a%20b</Key><UploadId>id/1</UploadId>"
      "<Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>";
  const auto page = ReadUploadPage(absl::StrCat(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextKeyMarker>a%20b</NextKeyMarker><NextUploadIdMarker>id/1</NextUploadIdMarker>",
      upload, "</ListMultipartUploadsResult>"));
  REQUIRE(page.ok());
  REQUIRE(page->uploads.size() == 1);
  CHECK(page->uploads[0].key == "a b");
  CHECK(page->uploads[0].id == "id/1");
  CHECK(page->more);
  CHECK(page->next_key == "a b");
  CHECK(page->next_id == "id/1");
  CHECK_FALSE(ReadUploadPage("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                             "</ListMultipartUploadsResult>")
                  .ok());
  CHECK_FALSE(
      ReadUploadPage("<ListMultipartUploadsResult><Upload/></ListMultipartUploadsResult>").ok());
}

TEST_CASE("An upload has an id, and ends with an answer that says so") {
  CHECK(*ReadUploadId("<InitiateMultipartUploadResult><UploadId>id</UploadId>"
                      "</InitiateMultipartUploadResult>") == "id");
  CHECK_FALSE(ReadUploadId("<InitiateMultipartUploadResult/>").ok());
  CHECK(IsUploadComplete("\n\n <CompleteMultipartUploadResult/>"));
  CHECK_FALSE(IsUploadComplete("<Error><Code>InternalError</Code></Error>"));
  CHECK_FALSE(IsUploadComplete("  "));
}

TEST_CASE("Keys of STS and of an agent have an end") {
  const absl::Time end =
      absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone());
  const auto sts = ReadStsKeys(
      "<AssumeRoleWithWebIdentityResponse xmlns=\"x\"><AssumeRoleWithWebIdentityResult>"
      "<Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
      "<SessionToken>t</SessionToken><Expiration>2026-01-02T03:04:05Z</Expiration></Credentials>"
      "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  const auto agent = ReadAgentKeys(
      R"({"AccessKeyId": "i", "SecretAccessKey": "s", "Token": "t", "AccountId": "1",
          "Expiration": "2026-01-02T03:04:05Z"})");
  for (const auto& found : {sts, agent}) {
    REQUIRE(found.ok());
    CHECK(found->keys.access_key_id == "i");
    CHECK(found->keys.secret_access_key == "s");
    CHECK(found->keys.session_token == "t");
    CHECK(found->expiry == end);
  }
}

TEST_CASE("What hands out no keys is told without what it handed out") {
  for (
      const char* const body :
      {"", "[]", "{", R"({"AccessKeyId": 1})",
       R"({"AccessKeyId": "i", "SecretAccessKey": "hidden", "Token": "hidden"})",
       R"({"AccessKeyId": "i", "SecretAccessKey": "hidden", "Token": "t", "Expiration": "hidden"})"}) {
    INFO(body);
    const absl::Status status = ReadAgentKeys(body).status();
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(std::string(status.message()), !Contains("hidden"));
  }
  CHECK_FALSE(ReadStsKeys("<AssumeRoleWithWebIdentityResponse/>").ok());
}

}  // namespace
}  // namespace sightline
