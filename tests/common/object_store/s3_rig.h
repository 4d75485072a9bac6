// A store over a test server, for tests of what speaks with S3.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_RIG_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_RIG_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/object_store/s3_store.h"
#include "tests/common/object_store/s3_test_server.h"
#include "tests/common/object_store/variables.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Options for the server's bucket, below the folder "some/folder", that wait for nothing.
inline S3Options OptionsFor(const S3TestServer& server) {
  S3Options options;
  options.url = "s3://bucket/some/folder";
  options.endpoint = server.endpoint();
  options.retry.attempts = 4;
  options.retry.first_wait = absl::ZeroDuration();
  return options;
}

inline Environment KeysOf(const S3TestKeys& keys) {
  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", keys.id},
                                                  {"AWS_SECRET_ACCESS_KEY", keys.secret}};
  if (!keys.session_token.empty()) variables["AWS_SESSION_TOKEN"] = keys.session_token;
  return Variables(std::move(variables));
}

// Throws if the options are wrong.
inline std::unique_ptr<ObjectStore> OpenFor(const S3Options& options, const S3TestKeys& keys = {},
                                            WallTime wall_time = absl::Now) {
  auto store = OpenS3Store(options, KeysOf(keys), std::move(wall_time));
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  return *std::move(store);
}

// The key as the server has it.
inline std::string InBucket(const std::string& key) {
  return "some/folder/" + key;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_S3_RIG_H_
