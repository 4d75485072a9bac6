// A server that behaves like S3 for what s3_store.h asks of it, and fails when it is told to.
//
//   S3TestServer server({dir.path()});
//   server.Inject({S3Fault::kAnswer, "GetObject"});   // the next read is answered 500
//
// Over the wire faults are injected by POST to /_fault of a form (curl --data), whose fields have
// the names of S3Fault's and whose kinds are named as its are, in small letters:
// kind=reset_after&operation=PutObject&skip=3&times=1.  Another kind is answered 400.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SERVER_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/mutex.h"
#include "tests/common/object_store/s3_test_objects.h"
#include "tests/common/object_store/s3_test_signature.h"

namespace httplib {
class Server;
}

namespace sightline {

struct S3Fault {
  enum Kind {
    kAnswer,             // `status` and `body`, and nothing is done
    kReset,              // the connection is reset, and nothing is done
    kResetAfter,         // it is done, and then the connection is reset
    kTruncate,           // half of the answer's body, and the connection is closed
    kStall,              // half of the answer's body, and nothing more until the server ends
    kWrongRange,         // the range one byte later than asked for
    kDamage,             // the body that came is another than the one that was sent
    kIgnoreIfNoneMatch,  // what exists is overwritten
  };

  Kind kind = kAnswer;
  // GetObject, HeadObject, PutObject, DeleteObject, ListObjects, CreateUpload, UploadPart,
  // CompleteUpload, AbortUpload or ListUploads; empty: any.
  std::string operation;
  std::string key_part;  // only of keys that contain it
  int times = 1;         // how often; negative: always
  int skip = 0;          // how many requests that it would meet pass before
  int status = 500;
  std::string body = "<Error><Code>InternalError</Code><Message>injected</Message></Error>";
};

struct S3TestServerOptions {
  std::string folder;  // of the objects
  int port = 0;        // any
  std::string bucket = "bucket";
  std::string region = "us-east-1";
  S3TestKeys keys;
  int page_keys = 1000;  // the most that it lists at once
  std::function<absl::Time()> now = absl::Now;
};

// Thread-safe.  Listens on 127.0.0.1.
class S3TestServer {
 public:
  // Throws if it cannot listen.
  explicit S3TestServer(S3TestServerOptions options);
  ~S3TestServer();

  int port() const { return port_; }
  std::string endpoint() const;

  // Faults are asked in the order in which they came; the first that meets a request has it.
  void Inject(S3Fault fault) EXCLUDES(mutex_);
  // How many requests of that kind have come, answered or not.
  int requests(const std::string& operation) EXCLUDES(mutex_);
  TestObjects& objects() { return objects_; }

 private:
  class Exchange;

  void Serve(const httplib::Request& request, httplib::Response& response);
  void InjectOverTheWire(const httplib::Request& request, httplib::Response& response);
  absl::optional<S3Fault> FaultOf(const std::string& operation, const std::string& key)
      EXCLUDES(mutex_);
  void ApplyToAnswer(const S3Fault& fault, const httplib::Request& request,
                     httplib::Response& response);
  void AwaitEnd() EXCLUDES(mutex_);
  void ResetConnection(int remote_port) const;

  const S3TestServerOptions options_;
  TestObjects objects_;
  Mutex mutex_;
  CondVar ended_changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::vector<S3Fault> faults_ GUARDED_BY(mutex_);
  std::map<std::string, int> requests_ GUARDED_BY(mutex_);
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread listener_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_TEST_SERVER_H_
