// SPDX-License-Identifier: Apache-2.0
#include "harness/system/slurm_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace regatta::system {
namespace {

std::atomic<bool> is_noted{false};
std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void note(int) { noted = true; }

/// Slurm's variable, a number; empty outside of Slurm.
std::string job_id() {
  const char* value = std::getenv("SLURM_JOB_ID");
  const std::string id = value == nullptr ? "" : value;
  const bool is_number =
      std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? id : "";
}

/// Finds a value in `JobState=RUNNING Reason=None ...`.
std::string value_in(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find(" " + name + "=");
  if (begin == text.npos) return "";
  const std::size_t value = begin + name.size() + 2;
  return text.substr(value, text.find(' ', value) - value);
}

std::string what_slurm_says(const std::string& id) {
  const std::string command = "timeout 3 scontrol --oneliner show job " + id + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> block;
  while (pipe && std::fgets(block.data(), block.size(), pipe.get()) != nullptr)
    text += block.data();
  return text;
}

/// The reason why the job has ended; empty if it runs, there is none, or Slurm does not answer.
std::string end_of(const std::string& id) {
  if (id.empty()) return "";
  const std::string text = what_slurm_says(id);
  const std::string state = value_in(text, "JobState");
  if (state.empty() || state == "RUNNING") return "";
  if (state == "TIMEOUT" || value_in(text, "Reason") == "TimeLimit") {
    return fmt::format("the time limit of Slurm's job {} was reached", id);
  }
  if (state == "COMPLETING" || state == "CANCELLED") {
    return fmt::format("Slurm's job {} was cancelled", id);
  }
  return fmt::format("Slurm's job {} has ended ({})", id, state);
}

}  // namespace

SlurmEndNotice::SlurmEndNotice() {
  if (job_id().empty()) return;
  noted = false;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &former_);
  is_noted = true;
}

SlurmEndNotice::~SlurmEndNotice() {
  if (!is_noted.exchange(false)) return;
  sigaction(SIGTERM, &former_, nullptr);
  noted = false;
}

bool SlurmEndNotice::is_there() { return is_noted; }
bool SlurmEndNotice::has_come() { return noted; }

std::optional<RunError> slurm_end() {
  const std::string id = job_id();
  std::string end = end_of(id);
  if (end.empty() && !SlurmEndNotice::has_come()) return std::nullopt;
  if (end.empty()) end = fmt::format("Slurm ended a step of job {} by SIGTERM", id);
  return RunError(ErrorKind::Cancelled,
                  end + "; fix: run it again, in a job with more time if that was short");
}

void stop_at_slurm_end() {
  if (SlurmEndNotice::has_come()) throw *slurm_end();
}

}  // namespace regatta::system
