// The test server as a process, for tests of whole programs.
//
// usage: s3_test_server FOLDER [PORT]
//   FOLDER  where objects are kept; they are there again when it is started anew
//   PORT    default: any
//
// Prints its endpoint in a line, and serves until it is ended.  The bucket is "bucket", the region
// us-east-1, and keys are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.  Faults:
// s3_test_server.h.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "tests/common/object_store/s3_test_server.h"

int main(int argc, char** argv) {
  const char* const id = std::getenv("AWS_ACCESS_KEY_ID");
  const char* const secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  sightline::S3TestServerOptions options;
  if (argc < 2 || argc > 3 || (argc == 3 && !absl::SimpleAtoi(argv[2], &options.port)) ||
      id == nullptr || secret == nullptr) {
    std::cerr << "usage: AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... s3_test_server FOLDER "
                 "[PORT]\n";
    return 64;
  }
  options.folder = argv[1];
  options.keys = {id, secret, ""};
  try {
    const sightline::S3TestServer server(options);
    std::cout << server.endpoint() << std::endl;
    while (true) ::pause();
  } catch (const std::exception& error) {
    std::cerr << "s3_test_server: " << error.what() << "\n";
    return 1;
  }
}
