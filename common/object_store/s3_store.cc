#include "common/object_store/s3_store.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/object_store/aws_answers.h"
#include "common/object_store/s3_caller.h"
#include "common/object_store/s3_errors.h"
#include "common/object_store/s3_place.h"

namespace sightline {
namespace {

constexpr int64_t kPageKeys = 1000;  // the most that S3 lists at once
constexpr int kMaxEmptyPages = 100;  // in a row, of a list that claims to go on

absl::Status Unusable(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("the store's answer cannot be used: ", what));
}

// Where of an object the bytes of an answer are: "bytes 0-9/443".
absl::Status CheckRange(absl::string_view header, int64_t offset, int64_t length) {
  const absl::string_view range = absl::StripPrefix(header, "bytes ");
  const std::vector<absl::string_view> numbers = absl::StrSplit(range, absl::ByAnyChar("-/"));
  int64_t first = 0, last = 0, size = 0;
  if (numbers.size() != 3 || !absl::SimpleAtoi(numbers[0], &first) ||
      !absl::SimpleAtoi(numbers[1], &last) || !absl::SimpleAtoi(numbers[2], &size)) {
    return Unusable(absl::StrCat("Content-Range is \"", header, "\""));
  }
  if (first == offset && last == offset + length - 1) return absl::OkStatus();
  if (first == offset && size < offset + length && last == size - 1) {
    return absl::OutOfRangeError(absl::StrCat("the object has ", size, " bytes, not the ",
                                              offset + length, " that are to be read"));
  }
  return Unusable(
      absl::StrCat("bytes ", offset, "-", offset + length - 1, " were asked for, not ", range));
}

// Whether the end of a body can be told from a connection that broke.
bool SaysItsLength(const HttpAnswer& answer) {
  return !answer.Header("content-length").empty() || !answer.Header("transfer-encoding").empty();
}

std::function<double()> Random() {
  return [] {
    thread_local std::mt19937_64 generator(std::random_device{}());
    return std::uniform_real_distribution<double>()(generator);
  };
}

class S3Store : public ObjectStore {
 public:
  S3Store(std::unique_ptr<S3Caller> caller, S3UploadOptions upload)
      : caller_(std::move(caller)), upload_(upload) {}

  std::string name() const override { return caller_->place().Name(""); }
  std::string identity() const override {
    return absl::StrCat(name(), " at ", caller_->place().origin);
  }

  absl::StatusOr<std::string> Read(absl::string_view key, int64_t offset, int64_t length,
                                   const CallContext& call) override {
    S3Request request = Request("GET", key);
    request.headers = {{"range", absl::StrCat("bytes=", offset, "-", offset + length - 1)}};
    request.max_answer_bytes = length;
    std::string bytes;
    RETURN_IF_ERROR(caller_->Repeat("read", key, call, [&]() -> absl::Status {
      absl::StatusOr<HttpAnswer> answer = caller_->Send(request, call);
      if (absl::IsResourceExhausted(answer.status())) return Unusable(answer.status().message());
      if (!answer.ok()) return answer.status();
      RETURN_IF_ERROR(CheckRange(answer->Header("content-range"), offset, length));
      bytes = std::move(answer->body);
      if (static_cast<int64_t>(bytes.size()) == length) return absl::OkStatus();
      return Unusable(absl::StrCat(bytes.size(), " bytes came of ", length));
    }));
    return bytes;
  }

  absl::StatusOr<std::string> ReadAll(absl::string_view key, int64_t max_bytes,
                                      const CallContext& call) override {
    S3Request request = Request("GET", key);
    request.max_answer_bytes = max_bytes;
    std::string bytes;
    RETURN_IF_ERROR(caller_->Repeat("read", key, call, [&]() -> absl::Status {
      absl::StatusOr<HttpAnswer> answer = caller_->Send(request, call);
      if (absl::IsResourceExhausted(answer.status())) {  // at no later time either
        return WithRetryDelay(answer.status(), absl::InfiniteDuration());
      }
      if (!answer.ok()) return answer.status();
      if (!SaysItsLength(*answer)) return Unusable("it does not say its length");
      bytes = std::move(answer->body);
      return absl::OkStatus();
    }));
    return bytes;
  }

  absl::StatusOr<ObjectInfo> Stat(absl::string_view key, const CallContext& call) override {
    ObjectInfo info;
    info.key = std::string(key);
    RETURN_IF_ERROR(caller_->Repeat("look at", key, call, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(Request("HEAD", key), call));
      if (!absl::SimpleAtoi(answer.Header("content-length"), &info.byte_count) ||
          !absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", answer.Header("last-modified"),
                           &info.write_time, nullptr)) {
        return Unusable("it has no Content-Length or no Last-Modified");
      }
      info.sha256 = std::string(answer.Header(kSha256Header));
      return absl::OkStatus();
    }));
    return info;
  }

  absl::Status Write(absl::string_view key, absl::string_view bytes,
                     const CallContext& call) override {
    S3Request request = Request("PUT", key);
    request.body = bytes;
    return caller_->Repeat("write", key, request, call);
  }

  absl::Status Create(absl::string_view key, absl::string_view bytes,
                      const CallContext& call) override {
    S3Request request = Request("PUT", key);
    request.headers = {{"if-none-match", "*"}, {kSha256Header, Sha256Hex(bytes)}};
    request.body = bytes;
    request.fresh_connection = true;
    bool tried = false;
    return caller_->Repeat("create", key, call, [&]() -> absl::Status {
      const absl::Status status = caller_->Send(request, call).status();
      // What failed before may have been done nevertheless, and then it is in its own way.
      if (absl::IsAlreadyExists(status) && tried) {
        ASSIGN_OR_RETURN(const bool is_ours, Holds(key, bytes, call));
        if (is_ours) return absl::OkStatus();
      }
      tried = true;
      return status;
    });
  }

  absl::Status WriteFile(absl::string_view key, const std::string& path, absl::string_view sha256,
                         const CallContext& call) override {
    return SendFile(caller_.get(), key, path, sha256, upload_, call);
  }

  absl::StatusOr<std::vector<ObjectInfo>> List(absl::string_view prefix, absl::string_view after,
                                               int64_t limit, const CallContext& call) override {
    std::vector<ObjectInfo> found;
    std::string next;
    int empty_pages = 0;
    do {
      const int64_t left = limit - static_cast<int64_t>(found.size());
      ASSIGN_OR_RETURN(ObjectPage page, ListPage(prefix, after, left, next, call));
      empty_pages = page.objects.empty() ? empty_pages + 1 : 0;
      if (empty_pages > kMaxEmptyPages) {
        return absl::FailedPreconditionError(
            absl::StrCat(name(), ": list ", prefix, ": pages without keys and no end"));
      }
      RETURN_IF_ERROR(Within(absl::StrCat(name(), ": list ", prefix),
                             Append(std::move(page.objects), prefix, after, limit, &found)));
      next = std::move(page.next);
    } while (!next.empty() && static_cast<int64_t>(found.size()) < limit);
    return found;
  }

  absl::Status Remove(absl::string_view key, const CallContext& call) override {
    const absl::Status status = caller_->Repeat("remove", key, Request("DELETE", key), call);
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

  absl::StatusOr<int> RemoveHalfWritten(absl::string_view prefix, absl::Time before,
                                        const CallContext& call) override {
    int removed = 0;
    UploadPage page;
    do {
      ASSIGN_OR_RETURN(page, ListUploads(prefix, page, call));
      for (const PendingUpload& upload : page.uploads) {
        if (upload.begun >= before || !absl::StartsWith(upload.key, FullKey(prefix))) continue;
        ASSIGN_OR_RETURN(const bool was_there, Abort(upload, call));
        removed += was_there ? 1 : 0;
      }
    } while (page.more);
    return removed;
  }

 private:
  std::string FullKey(absl::string_view key) const {
    return absl::StrCat(caller_->place().prefix, key);
  }

  S3Request Request(std::string method, absl::string_view key) const {
    return S3Request{std::move(method), FullKey(key)};
  }

  // Whether the object, which was there a moment ago, has these bytes.
  absl::StatusOr<bool> Holds(absl::string_view key, absl::string_view bytes,
                             const CallContext& call) {
    S3Request request = Request("GET", key);
    request.max_answer_bytes = static_cast<int64_t>(bytes.size());
    const absl::StatusOr<HttpAnswer> there = caller_->Send(request, call);
    if (absl::IsResourceExhausted(there.status())) return false;  // it has more
    if (absl::IsNotFound(there.status())) return Unusable("what exists is not there");
    RETURN_IF_ERROR(there.status());
    return there->body == bytes;
  }

  absl::StatusOr<ObjectPage> ListPage(absl::string_view prefix, absl::string_view after,
                                      int64_t limit, const std::string& next,
                                      const CallContext& call) {
    S3Request request{"GET", ""};
    request.max_answer_bytes = kMaxListBytes;
    request.query = {{"list-type", "2"},
                     {"encoding-type", "url"},
                     {"prefix", FullKey(prefix)},
                     {"max-keys", absl::StrCat(std::min(limit, kPageKeys))}};
    if (!next.empty()) {
      request.query.emplace_back("continuation-token", next);
    } else if (!after.empty()) {
      request.query.emplace_back("start-after", FullKey(after));
    }
    ObjectPage page;
    RETURN_IF_ERROR(caller_->Repeat("list", prefix, call, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(request, call));
      ASSIGN_OR_RETURN(page, ReadObjectPage(answer.body));
      return absl::OkStatus();
    }));
    return page;
  }

  // Without the store's own prefix.  FAILED_PRECONDITION if the store lists what was not asked
  // for, or out of order: nobody could go on behind the last key.
  absl::Status Append(std::vector<ObjectInfo> objects, absl::string_view prefix,
                      absl::string_view after, int64_t limit, std::vector<ObjectInfo>* found) {
    const std::string full_prefix = FullKey(prefix);
    for (ObjectInfo& object : objects) {
      if (static_cast<int64_t>(found->size()) == limit) break;
      // What consoles write to show a folder.
      if (object.key == caller_->place().prefix) continue;
      const bool is_below = absl::StartsWith(object.key, full_prefix);
      if (is_below) object.key.erase(0, caller_->place().prefix.size());
      if (!is_below || object.key <= (found->empty() ? after : found->back().key)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the store does not list keys below the prefix in their order: ", object.key));
      }
      found->push_back(std::move(object));
    }
    return absl::OkStatus();
  }

  // The page behind `before`; of a default one, the first.
  absl::StatusOr<UploadPage> ListUploads(absl::string_view prefix, const UploadPage& before,
                                         const CallContext& call) {
    S3Request request{"GET", ""};
    request.max_answer_bytes = kMaxListBytes;
    request.query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", FullKey(prefix)}};
    if (before.more) {
      request.query.emplace_back("key-marker", before.next_key);
      request.query.emplace_back("upload-id-marker", before.next_id);
    }
    UploadPage page;
    RETURN_IF_ERROR(caller_->Repeat("list uploads", prefix, call, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(request, call));
      ASSIGN_OR_RETURN(page, ReadUploadPage(answer.body));
      return absl::OkStatus();
    }));
    const bool goes_on =
        std::pair(page.next_key, page.next_id) != std::pair(before.next_key, before.next_id);
    if (!page.more || goes_on) return page;
    return absl::FailedPreconditionError(
        absl::StrCat(name(), ": list uploads ", prefix, ": the store lists one page for ever"));
  }

  // Whether it was there to be aborted.
  absl::StatusOr<bool> Abort(const PendingUpload& upload, const CallContext& call) {
    const absl::string_view key = absl::StripPrefix(upload.key, caller_->place().prefix);
    S3Request request{"DELETE", upload.key, {{"uploadId", upload.id}}};
    const absl::Status status = caller_->Repeat("abort an upload", key, request, call);
    if (absl::IsNotFound(status)) return false;
    RETURN_IF_ERROR(status);
    return true;
  }

  const std::unique_ptr<S3Caller> caller_;
  const S3UploadOptions upload_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3Store(S3Options options,
                                                         const Environment& environment,
                                                         WallTime wall_time) {
  ASSIGN_OR_RETURN(S3Place place,
                   FindS3Place(options.url, options.endpoint, options.region, environment));
  if (options.http.ca_bundle.empty()) {
    options.http.ca_bundle = environment("AWS_CA_BUNDLE").value_or("");
  }
  if (options.retry.random == nullptr) options.retry.random = Random();
  auto http = std::make_unique<HttpClient>(options.http);
  ASSIGN_OR_RETURN(std::unique_ptr<AwsKeySource> keys,
                   FindAwsKeys(environment, place.region, http.get(), wall_time));
  auto caller = std::make_unique<S3Caller>(std::move(place), std::move(http), std::move(keys),
                                           std::move(options.retry), std::move(wall_time));
  return std::make_unique<S3Store>(std::move(caller), options.upload);
}

}  // namespace sightline
