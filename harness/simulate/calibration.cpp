// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/calibration.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "harness/system/input_file.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta::simulate {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using virtual_time::kNoLimit;
using virtual_time::MessageCosts;
using virtual_time::MessageTime;
using virtual_time::Way;

constexpr int kFormat = 1;
constexpr std::uintmax_t kMostCalibration = 64 << 20;
constexpr const char* kLaterTransport = "open_mpi_sums";  // older files: as open_mpi
constexpr std::size_t kShownKey = 100;                    // characters

/// The named fields of a transport: one list for writer and reader.
template <typename T, typename Field>
void for_each_rate(T& transport, Field&& field) {
  field("on_host", transport.on_host);
  field("between_hosts", transport.between_hosts);
  field("adding_bytes_per_ns", transport.adding_bytes_per_ns);
  field("sending_bytes_per_ns", transport.sending_bytes_per_ns);
}
template <typename T, typename Field>
void for_each_transport(T& transports, Field&& field) {
  field("in_process", transports.in_process);
  field("open_mpi", transports.open_mpi);
  field(kLaterTransport, transports.open_mpi_sums);
  field("grpc", transports.grpc);
}

ordered_json written(double rate) { return rate < kNoLimit ? ordered_json(rate) : nullptr; }
ordered_json written(const Way& way) {
  ordered_json all = {{"message_ns", way.message_ns}, {"bytes_per_ns", written(way.bytes_per_ns)}};
  for (const MessageTime& point : way.points) all["points"].push_back({point.bytes, point.ns});
  for (const MessageTime& point : way.core_points) {
    all["core_points"].push_back({point.bytes, point.ns});
  }
  return all;
}
ordered_json written(const MessageCosts& transport) {
  ordered_json all;
  for_each_rate(transport,
                [&](const char* name, const auto& value) { all[name] = written(value); });
  return all;
}

class CalibrationReader {
 public:
  explicit CalibrationReader(std::string path) : path_(std::move(path)) {}

  Calibration read(const json& file) const {
    if (!file.is_object() || !file.contains("calibration") || file["calibration"] != kFormat) {
      throw wrong(
          fmt::format("it is no calibration of format {}; fix: regatta calibrate", kFormat));
    }
    Calibration made;
    for (auto& [name, text] : {std::pair<const char*, std::string&>{"source", made.source},
                               {"cpu", made.cpu},
                               {"git_commit", made.git_commit},
                               {"timestamp", made.timestamp},
                               {"command", made.command}}) {
      const json& value = member(file, name);
      if (!value.is_string()) throw wrong(std::string(name) + " is no text");
      text = value.get<std::string>();
    }
    const json& transports = member(file, "transports");
    for_each_transport(made.transports, [&](const char* name, MessageCosts& transport) {
      const bool is_older =
          name == kLaterTransport && transports.is_object() && !transports.contains(name);
      read(member(transports, is_older ? "open_mpi" : name), transport);
    });
    const json& steps = member(file, "step_ns");
    if (!steps.is_array() || steps.size() > kMostStepTimes) {
      throw wrong(fmt::format("step_ns is no list of at most {} times", kMostStepTimes));
    }
    for (const json& ns : steps) made.step_ns.push_back(number(ns, "step_ns", {1, kMostNs}));
    const json& kernels = member(file, "kernels");
    if (!kernels.is_object()) throw wrong("kernels is no table");
    for (const auto& [key, ns] : kernels.items()) {
      made.kernels[key] = number(ns, "the kernel " + key.substr(0, kShownKey), {0, kMostNs});
    }
    return made;
  }

 private:
  RunError wrong(const std::string& what) const { return {ErrorKind::Data, path_ + ": " + what}; }
  const json& member(const json& object, const char* name) const {
    if (!object.is_object() || !object.contains(name)) {
      throw wrong(fmt::format("{} is missing", name));
    }
    return object.at(name);
  }
  double number(const json& value, const std::string& name, std::array<double, 2> range) const {
    if (!value.is_number()) throw wrong(name + " is no number");
    const double given = value.get<double>();
    if (given >= range[0] && given <= range[1]) return given;
    throw wrong(fmt::format("{} is {}, and {} to {} is possible", name, given, range[0], range[1]));
  }
  double rate(const json& value, const std::string& name) const {
    if (value.is_null()) return kNoLimit;
    return number(value, name, {kLeastBytesPerNs, kMostBytesPerNs});
  }
  /// Reads pairs of bytes and nanoseconds, which rise from `least` on.
  std::vector<MessageTime> points(const json& object, const char* name, MessageTime least) const {
    std::vector<MessageTime> all;
    if (!object.contains(name)) return all;
    const json& pairs = object[name];
    if (!pairs.is_array() || pairs.size() > kMostPoints) {
      throw wrong(fmt::format("{} is no list of at most {} pairs", name, kMostPoints));
    }
    for (const json& pair : pairs) {
      if (!pair.is_array() || pair.size() != 2) {
        throw wrong(fmt::format("one of {} is no pair", name));
      }
      const MessageTime point{
          .bytes = number(pair[0], fmt::format("bytes of {}", name), {1, kMostBytes}),
          .ns = number(pair[1], fmt::format("ns of {}", name), {0, kMostNs})};
      if (point.bytes <= least.bytes || point.ns < least.ns) {
        throw wrong(fmt::format("{} do not rise from {} ns on", name, least.ns));
      }
      all.push_back(point);
      least = point;
    }
    return all;
  }
  void read(const json& object, Way& way) const {
    way.message_ns = number(member(object, "message_ns"), "message_ns", {0, kMostNs});
    way.bytes_per_ns = rate(member(object, "bytes_per_ns"), "bytes_per_ns");
    way.points = points(object, "points", {.bytes = 0, .ns = way.message_ns});
    way.core_points = points(object, "core_points", {});
  }
  void read(const json& object, MessageCosts& transport) const {
    for_each_rate(transport, [&]<typename T>(const char* name, T& value) {
      if constexpr (std::is_same_v<T, Way>) {
        read(member(object, name), value);
      } else {
        value = rate(member(object, name), name);
      }
    });
  }

  std::string path_;
};

}  // namespace

std::string to_json(const Calibration& calibration) {
  ordered_json transports;
  for_each_transport(calibration.transports, [&](const char* name, const MessageCosts& transport) {
    transports[name] = written(transport);
  });
  ordered_json kernels = ordered_json::object();
  for (const auto& [key, ns] : calibration.kernels) kernels[key] = ns;
  const ordered_json all = {{"calibration", kFormat},
                            {"source", calibration.source},
                            {"cpu", calibration.cpu},
                            {"git_commit", calibration.git_commit},
                            {"timestamp", calibration.timestamp},
                            {"command", calibration.command},
                            {"transports", transports},
                            {"step_ns", calibration.step_ns},
                            {"kernels", kernels}};
  return all.dump(2) + "\n";
}

CalibrationFile read_calibration(const std::filesystem::path& path) {
  return parse_calibration(system::text_of(path, kMostCalibration), path.string());
}

CalibrationFile parse_calibration(std::string_view text, const std::string& name) {
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) {
    throw RunError(ErrorKind::Data, name + ": it is no JSON; fix: regatta calibrate");
  }
  return {.calibration = CalibrationReader(name).read(file), .digest = digest_of_text(text)};
}

void require_fitting(const Calibration& calibration, const std::string& path,
                     const std::string& cpu, const std::string& git_commit) {
  if (calibration.source != kCalibrated) return;
  const auto refuse = [&](const char* what, const std::string& its, const std::string& ours) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("{}: the calibration is of {} '{}', and this is '{}'; fix: regatta calibrate "
                    "anew, or say in its `source` where the numbers come from",
                    path, what, its, ours));
  };
  if (calibration.cpu != cpu) refuse("the processor", calibration.cpu, cpu);
  if (calibration.git_commit != git_commit) refuse("commit", calibration.git_commit, git_commit);
}

std::string digest_of_text(std::string_view text) { return fmt::format("{:016x}", fnv1a(text)); }

}  // namespace regatta::simulate
