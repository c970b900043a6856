// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests, made by openssl: an authority, a process signed by it, and a stranger;
// valid for 127.0.0.1 for a hundred years.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::test {

inline constexpr const char* kAuthority = R"(-----BEGIN CERTIFICATE-----
MIIBmTCCAT+gAwIBAgIUCuNJ39eeRbtqEnKspfgTs4/6QX8wCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWUmVnYXR0YSB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjExMDQz
NTJaGA8yMTI2MTAyODEwNDM1MlowITEfMB0GA1UEAwwWUmVnYXR0YSB0ZXN0IGF1
dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAOkRhuL5ToX5iMtys2j
F6wppg0RHihZgzTFhDw8FHbUsQ240nGiLSZ9f36TJA6uf+m8X3+pFahAclqBRjJ2
2+ijUzBRMB0GA1UdDgQWBBRV193KFoowp1an5AbUMPC0iuFi0zAfBgNVHSMEGDAW
gBRV193KFoowp1an5AbUMPC0iuFi0zAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCIQCs9yBVAhfZKNdKSid7e4vKhzz3pVuxXL+pJCgUz+vm4QIgd49Z
Km1jdKR/2anIzOse4AKivB0H5Gq/l4Hophiugdo=
-----END CERTIFICATE-----
)";

inline constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBlzCCAT2gAwIBAgIUVcpWRwX64HiH6Kju3WLurUBdHsgwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWUmVnYXR0YSB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjExMDQz
NTJaGA8yMTI2MTAyODEwNDM1MlowHzEdMBsGA1UEAwwUUmVnYXR0YSB0ZXN0IHBy
b2Nlc3MwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASWYhJPFXWLpnMpkQESd9T3
LslPf5ie82YpBWowWFRqZdKC/VkmSnKb8tq2gsctJnaWDSXgu3hrDzH7qT4BYQVA
o1MwUTAPBgNVHREECDAGhwR/AAABMB0GA1UdDgQWBBQQPSf5wNws3rYoTj1VoUIM
R1RP7zAfBgNVHSMEGDAWgBRV193KFoowp1an5AbUMPC0iuFi0zAKBggqhkjOPQQD
AgNIADBFAiEAkjfO+9kX26L8nfp6o64CoU4FP+wjbtTgNK/jVnI0SDsCIEMt2AD1
8t/WdZ+eWx6BcelqNMQfJFOEC3O8Xt85uRiF
-----END CERTIFICATE-----
)";

inline constexpr const char* kKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgers6yPk+1/cT9/79
9Y1+lZFBRTVFImlwv9x0HD1s5KyhRANCAASWYhJPFXWLpnMpkQESd9T3LslPf5ie
82YpBWowWFRqZdKC/VkmSnKb8tq2gsctJnaWDSXgu3hrDzH7qT4BYQVA
-----END PRIVATE KEY-----
)";

inline constexpr const char* kStrangersCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBjTCCATSgAwIBAgIUMuSJRcUEsWaKa7GS3teR+AfydYcwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIU3RyYW5nZXIwIBcNMjYxMTIxMTA0MzUyWhgPMjEyNjEwMjgx
MDQzNTJaMBMxETAPBgNVBAMMCFN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEMfe7Fp/sJMf8udc7g3yS7nCZuA5aJjp7+ubolP/wjj6Ol1LNtblsUW+a
I4032JChzz+H+0oiVPP1SImi803BOaNkMGIwHQYDVR0OBBYEFAzS7kO32TLqKbyM
SkWf8oamyURdMB8GA1UdIwQYMBaAFAzS7kO32TLqKbyMSkWf8oamyURdMA8GA1Ud
EwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNHADBEAiAr
rO48iKyfhBCW9wyHQNa9zt82dZu0T2Yb34BwNApHLAIgPXeBMWe79Xx+phCq3aZ/
JoSnKDijzzgnOLe6jEHSyTs=
-----END CERTIFICATE-----
)";

inline constexpr const char* kStrangersKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFfceicm3us24Ndlj
tcm/szyUrKTwoyHHOLc195Xi6UWhRANCAAQx97sWn+wkx/y51zuDfJLucJm4Dlom
Onv65uiU//COPo6XUs21uWxRb5ojjTfYkKHPP4f7SiJU8/VIiaLzTcE5
-----END PRIVATE KEY-----
)";

/// The certificates as files, which live as long as this object.
class Certificates {
 public:
  Certificates()
      : folder_(std::filesystem::temp_directory_path() /
                ("regatta_tls_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write("authority", kAuthority);
    write("process", kCertificate);
    write("process.key", kKey);
    write("stranger", kStrangersCertificate);
    write("stranger.key", kStrangersKey);
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  std::string path(const std::string& name) const { return folder_ / name; }
  /// The files of `process`, or of `stranger`, which is its own authority.
  comm::TlsFiles files_of(const std::string& who) const {
    return {.certificate = path(who),
            .key = path(who + ".key"),
            .authority = path(who == "process" ? "authority" : who)};
  }

 private:
  void write(const std::string& name, const char* text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::filesystem::path folder_;
};

}  // namespace regatta::test
