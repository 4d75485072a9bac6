#include "common/object_store/s3_place.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

bool HasOnly(absl::string_view text, absl::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || others.find(c) != others.npos;
  });
}

bool IsBucketName(absl::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && HasOnly(name, "-.") &&
         absl::ascii_isalnum(name.front()) && absl::ascii_isalnum(name.back());
}

bool IsPrefix(absl::string_view prefix) {
  const std::vector<absl::string_view> segments = absl::StrSplit(prefix, '/');
  return prefix.size() <= 512 &&
         std::all_of(prefix.begin(), prefix.end(),
                     [](char c) { return absl::ascii_isprint(c) && c != ' '; }) &&
         std::none_of(segments.begin(), segments.end(), [](absl::string_view segment) {
           return segment.empty() || segment == "." || segment == "..";
         });
}

struct Setting {
  std::string value;
  std::string origin;  // for messages: of which variable, or nothing
};

// What was told, or else the first of the variables that is set.
Setting Find(absl::string_view told, const Environment& environment,
             std::initializer_list<const char*> names) {
  if (!told.empty()) return {std::string(told), ""};
  for (const char* const name : names) {
    if (auto value = environment(name)) return {*std::move(value), absl::StrCat(" of $", name)};
  }
  return {};
}

absl::Status ReadUrl(const Setting& url, S3Place* place) {
  absl::string_view rest = url.value;
  if (absl::ConsumePrefix(&rest, "s3://")) {
    while (absl::ConsumeSuffix(&rest, "/")) {
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('/', 1));
    place->bucket = std::string(parts.first);
    if (!parts.second.empty()) place->prefix = absl::StrCat(parts.second, "/");
    if (IsBucketName(parts.first) && (parts.second.empty() || IsPrefix(parts.second))) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", url.value, "\"", url.origin,
                   " names no bucket; write s3://bucket or s3://bucket/some/folder, the bucket of "
                   "lower-case letters, digits, '-' and '.'"));
}

absl::Status ReadEndpoint(const Setting& endpoint, S3Place* place) {
  if (absl::StrContains(endpoint.value, "@")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the endpoint", endpoint.origin,
                     " has a user or a password in it, which is not shown here; keys are told by "
                     "variables of their own"));
  }
  absl::string_view host = absl::StripSuffix(endpoint.value, "/");
  place->origin = std::string(host);
  if ((absl::ConsumePrefix(&host, "https://") || absl::ConsumePrefix(&host, "http://")) &&
      !host.empty() && HasOnly(absl::AsciiStrToLower(host), "-._:[]")) {
    place->host = std::string(host);
    place->path = absl::StrCat("/", place->bucket, "/");
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the endpoint \"", endpoint.value, "\"", endpoint.origin,
                   " is none; write https://host or https://host:port"));
}

}  // namespace

std::string S3Place::Name(absl::string_view key) const {
  std::string name = absl::StrCat("s3://", bucket, "/", prefix, key);
  while (absl::EndsWith(name, "/") && key.empty()) name.pop_back();
  return name;
}

absl::string_view AwsDomain(absl::string_view region) {
  return absl::StartsWith(region, "cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
}

absl::StatusOr<S3Place> FindS3Place(absl::string_view url, const std::string& endpoint,
                                    const std::string& region, const Environment& environment) {
  S3Place place;
  RETURN_IF_ERROR(ReadUrl(Find(url, environment, {kObjectStoreVariable}), &place));
  const Setting where = Find(region, environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  place.region = where.value.empty() ? "us-east-1" : where.value;
  if (!HasOnly(place.region, "-")) {
    return absl::InvalidArgumentError(absl::StrCat("the region \"", place.region, "\"",
                                                   where.origin,
                                                   " is none; write one like eu-central-1"));
  }
  const Setting elsewhere =
      Find(endpoint, environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!elsewhere.value.empty()) {
    RETURN_IF_ERROR(ReadEndpoint(elsewhere, &place));
    return place;
  }
  const std::string aws = absl::StrCat("s3.", place.region, AwsDomain(place.region));
  // A certificate for *.s3.<region> is none for names with more dots.
  const bool dotted = absl::StrContains(place.bucket, ".");
  place.host = dotted ? aws : absl::StrCat(place.bucket, ".", aws);
  place.path = dotted ? absl::StrCat("/", place.bucket, "/") : "/";
  place.origin = absl::StrCat("https://", place.host);
  return place;
}

}  // namespace sightline
