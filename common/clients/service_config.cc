#include "common/clients/service_config.h"

#include <nlohmann/json.hpp>

namespace sightline {
namespace {

constexpr char kServiceConfig[] =
#include "common/clients/service_config_text.inc"
    ;

}  // namespace

std::string PublicServiceConfigWithoutTimeouts() {
  nlohmann::json config =
      nlohmann::json::parse(kServiceConfig, /*cb=*/nullptr, /*allow_exceptions=*/false);
  for (nlohmann::json& method : config["methodConfig"]) method.erase("timeout");
  return config.dump();
}

}  // namespace sightline
