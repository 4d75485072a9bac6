// Protobuf messages as JSON text.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_JSON_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_JSON_H_

#include <string>

#include <google/protobuf/message.h>

namespace sightline {

// Proto3 JSON, indented, fields of value zero included, without a newline at the end.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_JSON_H_
