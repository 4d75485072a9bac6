#include "services/sightlinectl/store_place.h"

#include <utility>

#include "common/object_store/environment.h"
#include "common/object_store/s3_place.h"
#include "common/object_store/s3_store.h"

namespace sightline {

void StorePlace::AddFlags(absl::string_view folder_help, Flags* flags) {
  flags->String("store", "DIR", folder_help, &folder);
  url = ProcessEnvironment()(kObjectStoreVariable).value_or("");
  flags->String("object-store", "URL",
                "s3://BUCKET/FOLDER that holds the store; default: $SIGHTLINE_OBJECT_STORE", &url);
  flags->String("endpoint", "URL",
                "of an object store that is not AWS's; default: $AWS_ENDPOINT_URL_S3", &endpoint);
}

absl::StatusOr<std::unique_ptr<ObjectStore>> StorePlace::OpenObjectStore() const {
  S3Options options;
  options.url = url;
  options.endpoint = endpoint;
  return OpenS3Store(std::move(options));
}

}  // namespace sightline
