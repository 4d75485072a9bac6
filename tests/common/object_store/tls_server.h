// TLS on the server's side of a connection, with a certificate made for the test.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_TLS_SERVER_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_TLS_SERVER_H_

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace sightline {

// Thread-safe.
class TlsServerSide {
 public:
  // With a certificate for `address`, an IP, that it signs itself.  Throws if that fails.
  explicit TlsServerSide(const std::string& address);
  ~TlsServerSide();
  TlsServerSide(const TlsServerSide&) = delete;
  TlsServerSide& operator=(const TlsServerSide&) = delete;

  // In PEM: what a client has to trust.
  const std::string& certificate() const { return certificate_; }

  // Reads one request's headers and answers with `bytes`, if the client believes it.
  void Answer(int socket, const std::string& bytes) const;

 private:
  ssl_ctx_st* const context_;
  std::string certificate_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_TLS_SERVER_H_
