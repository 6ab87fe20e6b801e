#pragma once

#include <cstddef>

namespace assay::train {

/// Holds a model's parameters while they are not used, and receives their gradients. A unit is used
/// as a whole; a Llama's units are its embedding, then each of its blocks on this rank, then its
/// last norm with its output matrix. All ranks with other data call the same operations in the same
/// order.
class UnitStore {
 public:
  UnitStore() = default;
  UnitStore(const UnitStore&) = delete;
  UnitStore& operator=(const UnitStore&) = delete;
  virtual ~UnitStore() = default;

  /// Announces that it will be used soon. Does not wait.
  virtual void fetch(std::size_t unit) = 0;
  /// Makes its parameters valid from return until release().
  virtual void use(std::size_t unit) = 0;
  virtual void release(std::size_t unit) = 0;
  /// Sets its gradients to 0 unless they are already being computed.
  virtual void begin_gradients(std::size_t unit) = 0;
  /// Reports that they are complete for this part of the batch and may be removed.
  virtual void end_gradients(std::size_t unit) = 0;
};

}  // namespace assay::train
