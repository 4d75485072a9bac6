#include "tests/common/object_store/tls_server.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <stdexcept>

namespace sightline {
namespace {

void Insist(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL cannot make a certificate");
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  Insist(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Good for an hour.
X509* MakeCertificate(EVP_PKEY* key, const std::string& address) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_subject_alt_name, "IP:" + address);
  Insist(X509_sign(certificate, key, EVP_sha256()) > 0);
  return certificate;
}

std::string ToPem(X509* certificate) {
  BIO* const memory = BIO_new(BIO_s_mem());
  Insist(PEM_write_bio_X509(memory, certificate) == 1);
  char* text = nullptr;
  const long length = BIO_get_mem_data(memory, &text);
  std::string pem(text, length);
  BIO_free(memory);
  return pem;
}

}  // namespace

TlsServerSide::TlsServerSide(const std::string& address)
    : context_(SSL_CTX_new(TLS_server_method())) {
  // A client that has gone is no reason to end.
  std::signal(SIGPIPE, SIG_IGN);
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  Insist(context_ != nullptr && key != nullptr);
  X509* const certificate = MakeCertificate(key, address);
  certificate_ = ToPem(certificate);
  Insist(SSL_CTX_use_certificate(context_, certificate) == 1 &&
         SSL_CTX_use_PrivateKey(context_, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

TlsServerSide::~TlsServerSide() {
  SSL_CTX_free(context_);
}

void TlsServerSide::Answer(int socket, const std::string& bytes) const {
  SSL* const tls = SSL_new(context_);
  SSL_set_fd(tls, socket);
  if (SSL_accept(tls) == 1) {
    std::string text;
    char byte = 0;
    while (text.find("\r\n\r\n") == text.npos && SSL_read(tls, &byte, 1) == 1) text += byte;
    if (!text.empty()) SSL_write(tls, bytes.data(), static_cast<int>(bytes.size()));
    SSL_shutdown(tls);
  }
  SSL_free(tls);
}

}  // namespace sightline
