// Where the router is when nobody says so.
#ifndef SIGHTLINE_COMMON_CLIENTS_ROUTER_ADDRESS_H_
#define SIGHTLINE_COMMON_CLIENTS_ROUTER_ADDRESS_H_

#include <cstdlib>
#include <string>

namespace sightline {

// $SIGHTLINE_ROUTER, or "localhost:7400".
inline std::string DefaultRouter() {
  const char* address = std::getenv("SIGHTLINE_ROUTER");
  return address != nullptr && *address != '\0' ? address : "localhost:7400";
}

// What flags that name it say, whose value is DefaultRouter() unless they are given.
inline constexpr char kRouterHelp[] = "host:port; default $SIGHTLINE_ROUTER or localhost:7400";

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_ROUTER_ADDRESS_H_
