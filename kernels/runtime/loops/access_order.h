// SPDX-License-Identifier: Apache-2.0
//
// Makes loops claim their steps, and read, average and update the variables that they share, in an
// order that a simulation with virtual time prescribes (kernels/virtual). Each shared variable has
// its own sequence of turns, and so have the claims of steps on each model; a lane waits for its
// turn. A turn covers a whole variable. Threads: turns are added and begun while no lane runs; a
// seat is used only by the lane of its kernel.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class AccessOrder {
 public:
  enum class Access : std::uint8_t { Claim, Read, Average, Update, LookAhead };
  /// The loop that has a turn, and the kind of access.
  struct Who {
    int loop = 0;  ///< index of the loop in the whole graph
    Access access = Access::Read;
    auto operator<=>(const Who&) const = default;
  };

  /// The turns of one loop, for one kind of access, in one sequence.
  class Seat {
   public:
    /// Waits for the seat's next turn. Throws: Aborted; RunError(Timeout).
    void take(const Patience& patience);
    /// Ends the turn, so that the next turn in the sequence may begin.
    void pass();

   private:
    friend class AccessOrder;
    AccessOrder* all_ = nullptr;
    std::size_t order_ = 0;
    Counter granted_;
    std::uint64_t taken_ = 0;
    bool is_used_ = false;  ///< a kernel or a leader takes its turns
  };

  /// Returns the index of the sequence of turns in which loops claim steps on a model.
  std::size_t order_of_claims(int model);
  /// Returns the index of the sequence of turns in which loops access a variable.
  std::size_t order_of(const Variable& variable);

  /// Appends a turn to the sequence with index `order`.
  void add(std::size_t order, const Who& who);
  /// Grants the first added turn of every sequence. Throws: RunError(Unsupported) for a turn that
  /// no kernel or leader takes.
  void begin();

  /// Returns the seat at which the leader of `loop` claims steps on `model`.
  Seat& seat_of_claims(int model, int loop) {
    return use(order_of_claims(model), {.loop = loop, .access = Access::Claim});
  }
  struct Turns {
    int loop = 0;
    Patience patience;
  };
  /// Wraps a kernel that uses shared variables so that it waits for its turn at each of them; for
  /// an average, at its own replica's variable and that of the peer drawn in this step. Returns
  /// other kernels unchanged.
  std::unique_ptr<Kernel> in_turn(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                  const Node& node, const Turns& turns);

 private:
  struct Order {
    std::string of;
    std::map<Who, Seat> seats;
    std::vector<Seat*> turns;  ///< seats in the order of their turns since begin()
    std::size_t next = 0;
    std::size_t begun = 0;  ///< number of turns at begin()
  };

  std::size_t order_named(const std::string& name);
  Seat& seat(std::size_t order, const Who& who);
  Seat& use(std::size_t order, const Who& who);
  void pass(std::size_t order);

  std::deque<Order> orders_;
  std::map<std::string, std::size_t> numbers_;  ///< index of each sequence, by its name
};

}  // namespace regatta
