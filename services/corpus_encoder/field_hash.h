// SHA-256 over a list of fields.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_FIELD_HASH_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_FIELD_HASH_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"

namespace sightline {

// Each field goes in with its length before it, so that no two lists look alike.
class FieldHash {
 public:
  void Add(absl::string_view field) {
    hash_.Update(absl::StrCat(field.size(), ":"));
    hash_.Update(field);
  }
  void AddNumber(int64_t number) { Add(absl::StrCat(number)); }

  // 64 hex digits, or 32 bytes.  The object is spent.
  std::string Hex() { return hash_.Hex(); }
  std::string Raw() { return hash_.Raw(); }

 private:
  Sha256 hash_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_FIELD_HASH_H_
