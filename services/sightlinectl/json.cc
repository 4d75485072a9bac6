#include "services/sightlinectl/json.h"

#include <google/protobuf/util/json_util.h>

namespace sightline {

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string text;
  // Fails only for Any and for timestamps out of range, which we do not have.
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return "{}";
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace sightline
