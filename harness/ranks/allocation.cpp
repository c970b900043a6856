// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/allocation.h"

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

#include "harness/ranks/control_protocol.h"

namespace regatta {
namespace {

constexpr std::array kTold = {kCoordinatorVariable, kRunIdVariable, kTokenVariable};

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

int allocated_processes() {
  if (std::getenv(kCoordinatorVariable) != nullptr) return 0;
  return number_in("OMPI_COMM_WORLD_SIZE");
}

bool is_member_of_allocation() {
  return allocated_processes() > 0 && number_in("OMPI_COMM_WORLD_RANK") > 0;
}

std::unique_ptr<MpiSession> join_allocation() {
  const bool tells = std::getenv(kJoinedVariable) != nullptr;
  if (!tells && !is_member_of_allocation()) return nullptr;
  auto session = std::make_unique<MpiSession>();
  std::string lines;
  for (const char* name : kTold) {
    const char* value = std::getenv(name);
    lines += std::string(value == nullptr ? "" : value) + "\n";
  }
  std::istringstream told(session->broadcast(lines));
  for (const char* name : kTold) {
    std::string value;
    std::getline(told, value);
    setenv(name, value.c_str(), 1);
  }
  return session;
}

}  // namespace regatta
