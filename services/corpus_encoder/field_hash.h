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
    BeginField(static_cast<int64_t>(field.size()));
    AddToField(field);
  }
  // The same of a field that comes in pieces, of so many bytes in all.
  void BeginField(int64_t size) { hash_.Update(absl::StrCat(size, ":")); }
  void AddToField(absl::string_view piece) { hash_.Update(piece); }
  void AddNumber(int64_t number) { Add(absl::StrCat(number)); }

  // 64 hex digits, or 32 bytes.  The object is spent.
  std::string Hex() { return hash_.Hex(); }
  std::string Raw() { return hash_.Raw(); }

 private:
  Sha256 hash_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_FIELD_HASH_H_
