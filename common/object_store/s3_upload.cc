#include "common/object_store/s3_upload.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/checksum.h"
#include "common/base/mutex.h"
#include "common/base/random_access_file.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"
#include "common/object_store/aws_answers.h"
#include "common/object_store/s3_errors.h"

namespace sightline {
namespace {

constexpr int64_t kMostParts = 9000;
// Parts of a big object are put together before there is an answer.
constexpr absl::Duration kCompletePatience = absl::Minutes(10);
constexpr absl::Duration kAbortTime = absl::Seconds(10);

absl::Status CheckSha256(const std::string& path, absl::string_view found,
                         absl::string_view expected) {
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " has the SHA-256 ", found, " and should have ", expected));
}

// The parts of a file, read once and in order, whichever threads ask for them: what has been sent
// is what was hashed.
class FileParts {
 public:
  // Counts for the calling thread's progress.
  FileParts(const RandomAccessFile& file, int64_t part_bytes)
      : file_(file), part_bytes_(part_bytes), progress_(ReadProgress::Scope::current()) {}

  size_t count() const { return (file_.size() + part_bytes_ - 1) / part_bytes_; }

  // The number of the next part, and its bytes.  No more than `count` times.
  absl::StatusOr<std::pair<size_t, std::string>> Next() {
    const ReadProgress::Scope scope(progress_);
    MutexLock lock(mutex_);
    const int64_t offset = static_cast<int64_t>(next_) * part_bytes_;
    std::string bytes(std::min(part_bytes_, file_.size() - offset), '\0');
    RETURN_IF_ERROR(file_.Read(offset, static_cast<int64_t>(bytes.size()), bytes.data()));
    hash_.Update(bytes);
    return std::make_pair(next_++, std::move(bytes));
  }

  // Of what was read.
  std::string Sha256Hex() {
    MutexLock lock(mutex_);
    return hash_.Hex();
  }

 private:
  const RandomAccessFile& file_;
  const int64_t part_bytes_;
  ReadProgress* const progress_;
  Mutex mutex_;
  size_t next_ GUARDED_BY(mutex_) = 0;
  Sha256 hash_ GUARDED_BY(mutex_);
};

// One multipart upload, from its beginning to its end or its abortion.
class MultipartUpload {
 public:
  MultipartUpload(S3Caller* caller, absl::string_view key, absl::string_view sha256,
                  const CallContext& call)
      : caller_(caller),
        key_(key),
        full_key_(caller->place().prefix + key_),
        sha256_(sha256),
        call_(call) {}

  absl::Status Begin() {
    S3Request request = Request("POST", {{"uploads", ""}});
    request.headers = {{kSha256Header, sha256_}};
    return caller_->Repeat("begin an upload", key_, call_, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(request, call_));
      ASSIGN_OR_RETURN(id_, ReadUploadId(answer.body));
      return absl::OkStatus();
    });
  }

  absl::Status SendParts(FileParts* parts, int connections) {
    etags_.resize(parts->count());
    return WorkOnThreads(connections, parts->count(), [&](size_t) -> absl::Status {
      ASSIGN_OR_RETURN(const auto part, parts->Next());
      return SendPart(part.first, part.second);
    });
  }

  absl::Status Complete() {
    const std::string body = PartList();
    S3Request request = Request("POST", {{"uploadId", id_}});
    request.body = body;
    request.patience = kCompletePatience;
    request.fresh_connection = true;
    bool sent_before = false;
    return caller_->Repeat("complete an upload", key_, call_, [&]() -> absl::Status {
      const absl::StatusOr<HttpAnswer> answer = caller_->Send(request, call_);
      // What failed before may have been done nevertheless, and then the upload is no more.
      if (absl::IsNotFound(answer.status()) && sent_before) return CheckWritten();
      sent_before = true;
      if (!answer.ok()) return answer.status();
      return IsUploadComplete(answer->body) ? absl::OkStatus() : ErrorIn(*answer);
    });
  }

  // In a time of its own, as the call may have ended.  What fails here is left for
  // RemoveHalfWritten.
  void Abort() {
    const CallContext call(call_.clock(), call_.clock()->Now() + kAbortTime);
    caller_->Repeat("abort an upload", key_, Request("DELETE", {{"uploadId", id_}}), call)
        .IgnoreError();
  }

 private:
  S3Request Request(std::string method, NamesAndValues query) const {
    return S3Request{std::move(method), full_key_, std::move(query)};
  }

  absl::Status SendPart(size_t i, absl::string_view bytes) {
    S3Request request = Request("PUT", {{"partNumber", absl::StrCat(i + 1)}, {"uploadId", id_}});
    request.body = bytes;
    return caller_->Repeat("write a part", key_, call_, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(request, call_));
      etags_[i] = std::string(answer.Header("etag"));
      if (!etags_[i].empty()) return absl::OkStatus();
      return absl::UnavailableError("the store's answer cannot be used: it has no ETag");
    });
  }

  std::string PartList() const {
    std::string list = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < etags_.size(); ++i) {
      absl::StrAppend(&list, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>",
                      absl::StrReplaceAll(etags_[i], {{"&", "&amp;"}, {"<", "&lt;"}}),
                      "</ETag></Part>");
    }
    return list + "</CompleteMultipartUpload>";
  }

  static absl::Status ErrorIn(const HttpAnswer& answer) {
    const AwsError error = ReadAwsError(answer.body);
    if (!error.code.empty()) return AwsFailure(error);
    return absl::UnavailableError(
        "the store's answer cannot be used: neither an upload that is complete nor an error");
  }

  // Whether the object that is there has the bytes of this upload.
  absl::Status CheckWritten() {
    ASSIGN_OR_RETURN(const HttpAnswer answer, caller_->Send(Request("HEAD", {}), call_));
    if (answer.Header(kSha256Header) == sha256_) return absl::OkStatus();
    return absl::NotFoundError("the upload is there no more, nor the object");
  }

  S3Caller* const caller_;
  const std::string key_;
  const std::string full_key_;
  const std::string sha256_;
  const CallContext call_;
  std::string id_;
  std::vector<std::string> etags_;  // of parts, each written by the thread that sends it
};

absl::Status UploadInParts(S3Caller* caller, absl::string_view key, const RandomAccessFile& file,
                           absl::string_view sha256, const S3UploadOptions& options,
                           const CallContext& call) {
  MultipartUpload upload(caller, key, sha256, call);
  RETURN_IF_ERROR(upload.Begin());
  FileParts parts(file, PartBytes(file.size(), options.part_bytes));
  absl::Status status = upload.SendParts(&parts, options.connections);
  if (status.ok()) status = CheckSha256(file.path(), parts.Sha256Hex(), sha256);
  if (status.ok()) status = upload.Complete();
  if (status.ok()) return status;
  upload.Abort();
  if (!absl::IsNotFound(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; it was removed as half written while it was running"));
}

}  // namespace

int64_t PartBytes(int64_t file_bytes, int64_t least) {
  return std::max(least, (file_bytes + kMostParts - 1) / kMostParts);
}

absl::Status SendFile(S3Caller* caller, absl::string_view key, const std::string& path,
                      absl::string_view sha256, const S3UploadOptions& options,
                      const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  if (file->size() > options.part_bytes) {
    return UploadInParts(caller, key, *file, sha256, options, call);
  }
  std::string bytes(file->size(), '\0');
  RETURN_IF_ERROR(file->Read(0, file->size(), bytes.data()));
  RETURN_IF_ERROR(CheckSha256(path, Sha256Hex(bytes), sha256));
  S3Request request{"PUT", absl::StrCat(caller->place().prefix, key)};
  request.headers = {{kSha256Header, std::string(sha256)}};
  request.body = bytes;
  return caller->Repeat("write", key, request, call);
}

}  // namespace sightline
