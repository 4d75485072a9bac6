// `status`: what the servers say of themselves.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_STATUS_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_STATUS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/server_status.h"
#include "common/config/command.h"

namespace sightline {

int RunStatus(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kStatusCommand = {
    "status", "sightlinectl status [ADDR...] [flags]",
    "tells what servers hold and whether a router reaches its backends", RunStatus};

// What one server answered, or why it did not.
struct ServerAnswer {
  std::string address;
  absl::StatusOr<ServerStatus> status;
};

std::string FormatServer(const ServerAnswer& answer);

// A JSON array with {"address", "status" | "error"} for each, indented.
std::string ServersJson(const std::vector<ServerAnswer>& answers);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STATUS_COMMAND_H_
