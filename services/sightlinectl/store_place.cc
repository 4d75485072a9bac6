#include "services/sightlinectl/store_place.h"

#include <utility>

#include "common/object_store/environment.h"
#include "common/object_store/s3_place.h"
#include "common/object_store/s3_store.h"

namespace sightline {

void StorePlace::AddFlags(absl::string_view folder_help, Flags* flags) {
  flags->String("store", "DIR", folder_help, &folder);
  flags->String("object-store", "URL",
                "s3://BUCKET/FOLDER that holds the store; default, where no place is named: "
                "$SIGHTLINE_OBJECT_STORE",
                &url);
  flags->String("endpoint", "URL",
                "of an object store that is not AWS's; default: $AWS_ENDPOINT_URL_S3", &endpoint);
}

std::string StorePlace::Settle(Places wanted) {
  if (url.empty() && (folder.empty() || wanted == Places::kBoth)) {
    url = ProcessEnvironment()(kObjectStoreVariable).value_or("");
  }
  switch (wanted) {
    case Places::kOne:
      return folder.empty() != url.empty() ? "" : "one of --store DIR and --object-store URL";
    case Places::kOneOrBoth:
      return is_empty() ? "--store DIR or --object-store URL" : "";
    case Places::kBoth:
      return folder.empty() || url.empty() ? "both --store DIR and --object-store URL" : "";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<ObjectStore>> StorePlace::OpenObjectStore() const {
  S3Options options;
  options.url = url;
  options.endpoint = endpoint;
  return OpenS3Store(std::move(options));
}

}  // namespace sightline
