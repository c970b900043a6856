// SPDX-License-Identifier: Apache-2.0
//
// The exchange over TLS, and the errors for files or certificates that are not valid.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/certificates_for_test.h"
#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/comm/grpc/grpc_credentials.h"

namespace regatta::comm {
namespace {

using test::End;

class GrpcTls : public testing::Test {
 protected:
  ExchangeOptions options_of(int process, const std::string& who) const {
    ExchangeOptions options = test::options_of(process, 2);
    options.tls = certificates_.files_of(who);
    options.connect_limit_ms = 2000;
    return options;
  }
  std::string path(const std::string& name) const { return certificates_.path(name); }

  test::Certificates certificates_;
};

TEST_F(GrpcTls, CarriesMessagesBitForBit) {
  const std::vector<std::int64_t> sizes = {10, 9'000'000};
  End server(options_of(0, "process"));
  End client(options_of(1, "process"));
  client.exchange.connect(0, server.exchange.serve());
  const auto send = client.send(1, 0, sizes);
  const auto receive = server.receive(1, 1, sizes);
  for (std::int64_t step = 0; step < 3; ++step) {
    send->set(test::random_tensors(sizes, static_cast<unsigned>(step)));
    std::thread sender([&] { send->run(step); });
    receive->run(step);
    sender.join();
    EXPECT_EQ(receive->tensors, send->tensors);
  }
}

TEST_F(GrpcTls, RefusesOneWithoutTlsAndOneThatTheAuthorityHasNotSigned) {
  End server(options_of(0, "process"));
  const std::string address = server.exchange.serve();
  ExchangeOptions plain = options_of(1, "process");
  plain.tls = {};
  ExchangeOptions believing = options_of(1, "stranger");
  believing.tls.authority = path("authority");  // accepts the server's certificate, shows its own
  for (const ExchangeOptions& options : {plain, options_of(1, "stranger"), believing}) {
    End client(options);
    EXPECT_THROW(client.exchange.connect(0, address), RunError);
  }
  End client(options_of(1, "process"));
  client.exchange.connect(0, address);
}

TEST_F(GrpcTls, NamesAFileThatIsMissing) {
  ExchangeOptions options = options_of(0, "process");
  options.tls.key = path("absent");
  End server(options);
  try {
    server.exchange.serve();
    FAIL() << "a missing key went unnoticed";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_EQ(std::string(error.what())
                  .find("TLS: cannot read '" + path("absent") +
                        "': No such file or directory; a folder for --tls"),
              0U)
        << error.what();
  }
}

TEST_F(GrpcTls, ReadsNoFileThatHasNoEnd) {
  const std::string large = path("large");
  std::ofstream(large).close();
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);
  for (const auto& [key, why] :
       {std::pair<std::string, std::string>{"/dev/zero", "it is no regular file"},
        {large, "it has more than 1048576 bytes"}}) {
    ExchangeOptions options = options_of(0, "process");
    options.tls.key = key;
    End server(options);
    try {
      server.exchange.serve();
      FAIL() << key << " was read";
    } catch (const RunError& error) {
      EXPECT_EQ(std::string(error.what()).find("TLS: cannot read '" + key + "': " + why), 0U)
          << error.what();
    }
  }
}

/// The error that check_tls() throws.
std::string error_of(const TlsFiles& files, const std::string& address = "127.0.0.1") {
  try {
    check_tls(files, address);
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    return error.what();
  }
  return "no error";
}

TEST_F(GrpcTls, SaysWhatIsWrongInTheErrorAlone) {
  const std::string noise = path("noise");
  std::ofstream(noise) << "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
  TlsFiles files = certificates_.files_of("process");
  files.key = noise;
  testing::internal::CaptureStderr();
  const std::string error = error_of(files);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_NE(error.find("no server starts with it"), error.npos) << error;
}

TEST_F(GrpcTls, AcceptsFilesThatBelongTogether) {
  EXPECT_EQ(error_of(certificates_.files_of("process")), "no error");
  EXPECT_EQ(error_of({}), "no error");
}

TEST_F(GrpcTls, SaysWhatIsWrongWithFilesThatDoNotBelongTogether) {
  TlsFiles other_authority = certificates_.files_of("process");
  other_authority.authority = path("stranger");
  TlsFiles other_key = certificates_.files_of("process");
  other_key.key = path("stranger.key");
  for (const TlsFiles& files : {other_authority, other_key}) {
    const std::string error = error_of(files);
    EXPECT_NE(error.find("TLS at 127.0.0.1 with '" + files.certificate + "' does not work: "),
              std::string::npos)
        << error;
    EXPECT_NE(error.find("ci/make_certificates"), std::string::npos) << error;
  }
  // The certificate is valid for 127.0.0.1 only.
  const std::string error = error_of(certificates_.files_of("process"), "127.0.0.2");
  EXPECT_NE(error.find("127.0.0.2"), std::string::npos) << error;
  EXPECT_NE(error.find("cert.pem must name the address"), std::string::npos) << error;
}

TEST_F(GrpcTls, SaysWhichFileIsNoPem) {
  TlsFiles files = certificates_.files_of("process");
  files.authority = path("process.key");
  EXPECT_EQ(error_of(files), "TLS: '" + files.authority + "' holds no CERTIFICATE in PEM form");
}

}  // namespace
}  // namespace regatta::comm
