#include "common/object_store/s3_place.h"

#include <map>

#include "tests/common/object_store/variables.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("A bucket of AWS has a name of its own; one with dots has a path") {
  const auto plain = FindS3Place("s3://my-bucket/a/b/", "", "eu-central-1", Variables({}));
  REQUIRE(plain.ok());
  CHECK(plain->origin == "https://my-bucket.s3.eu-central-1.amazonaws.com");
  CHECK(plain->host == "my-bucket.s3.eu-central-1.amazonaws.com");
  CHECK(plain->path == "/");
  CHECK(plain->prefix == "a/b/");
  CHECK(plain->Name("c/d") == "s3://my-bucket/a/b/c/d");
  CHECK(plain->Name("") == "s3://my-bucket/a/b");
  const auto dotted = FindS3Place("s3://my.bucket", "", "cn-north-1", Variables({}));
  REQUIRE(dotted.ok());
  CHECK(dotted->origin == "https://s3.cn-north-1.amazonaws.com.cn");
  CHECK(dotted->path == "/my.bucket/");
  CHECK(dotted->Name("") == "s3://my.bucket");
}

TEST_CASE("An endpoint of one's own has the bucket in the path") {
  for (const char* const endpoint : {"http://minio:9000", "http://minio:9000/"}) {
    const auto place = FindS3Place("s3://bucket", endpoint, "", Variables({}));
    REQUIRE(place.ok());
    CHECK(place->origin == "http://minio:9000");
    CHECK(place->host == "minio:9000");
    CHECK(place->path == "/bucket/");
    CHECK(place->region == "us-east-1");
  }
  CHECK(FindS3Place("s3://bucket", "https://[::1]:9000", "", Variables({}))->host == "[::1]:9000");
}

TEST_CASE("What is not set comes from the environment, the closest name first") {
  const auto place = FindS3Place("s3://bucket", "", "",
                                 Variables({{"AWS_ENDPOINT_URL", "https://all"},
                                            {"AWS_ENDPOINT_URL_S3", "https://s3"},
                                            {"AWS_DEFAULT_REGION", "default"},
                                            {"AWS_REGION", "region"}}));
  REQUIRE(place.ok());
  CHECK(place->origin == "https://s3");
  CHECK(place->region == "region");
  const auto less = FindS3Place(
      "s3://bucket", "", "",
      Variables({{"AWS_ENDPOINT_URL", "https://all"}, {"AWS_DEFAULT_REGION", "default"}}));
  CHECK(less->origin == "https://all");
  CHECK(less->region == "default");
  const auto set =
      FindS3Place("s3://bucket", "https://set", "mine",
                  Variables({{"AWS_ENDPOINT_URL", "https://all"}, {"AWS_REGION", "r"}}));
  CHECK(set->origin == "https://set");
  CHECK(set->region == "mine");
}

TEST_CASE("What is no place is refused with its value") {
  for (const char* const url :
       {"", "bucket", "https://bucket", "s3://", "s3:///a", "s3://ab", "s3://Bucket",
        "s3://-bucket", "s3://bucket/a//b", "s3://bucket/../b", "s3://bucket/a b",
        "s3://user@bucket", "s3://bucket/./a", "s3://bucket\n"}) {
    INFO(url);
    const absl::Status status = FindS3Place(url, "", "", Variables({})).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Contains(url));
  }
  for (const char* const endpoint : {"minio:9000", "ftp://minio", "http://", "http://user:pw@minio",
                                     "http://minio/path", "http://minio?x"}) {
    INFO(endpoint);
    CHECK(
        absl::IsInvalidArgument(FindS3Place("s3://bucket", endpoint, "", Variables({})).status()));
  }
  CHECK(absl::IsInvalidArgument(
      FindS3Place("s3://bucket", "", "evil.example/", Variables({})).status()));
}

TEST_CASE("What the environment says wrongly is refused with the variable's name") {
  const auto refused = [](const char* url, const char* name, const char* value) {
    return std::string(FindS3Place(url, "", "", Variables({{name, value}})).status().message());
  };
  CHECK_THAT(refused("", "SIGHTLINE_OBJECT_STORE", "bucket"),
             Contains("\"bucket\" of $SIGHTLINE_OBJECT_STORE"));
  CHECK_THAT(refused("s3://bucket", "AWS_ENDPOINT_URL_S3", "minio"),
             Contains("\"minio\" of $AWS_ENDPOINT_URL_S3"));
  CHECK_THAT(refused("s3://bucket", "AWS_ENDPOINT_URL", "http://user:pw@minio"),
             Contains("of $AWS_ENDPOINT_URL") && !Contains("pw"));
  CHECK_THAT(refused("s3://bucket", "AWS_REGION", "Europe"), Contains("\"Europe\" of $AWS_REGION"));
}

}  // namespace
}  // namespace sightline
