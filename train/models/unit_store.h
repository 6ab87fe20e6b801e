#pragma once

#include <cstddef>

namespace assay::train {

/// Where the parameters of a model are while they are not used, and where their gradients go. A
/// unit is what is used together; a Llama's are its embedding, then each of its blocks on this
/// rank, then its last norm and its output matrix. All ranks with other data call the same
/// operations in the same order.
class UnitStore {
 public:
  UnitStore() = default;
  UnitStore(const UnitStore&) = delete;
  UnitStore& operator=(const UnitStore&) = delete;
  virtual ~UnitStore() = default;

  /// It will be used soon. Does not wait.
  virtual void fetch(std::size_t unit) = 0;
  /// Its parameters have their values when this returns, until release().
  virtual void use(std::size_t unit) = 0;
  virtual void release(std::size_t unit) = 0;
  /// Its gradients are 0, if they are not being computed already.
  virtual void begin_gradients(std::size_t unit) = 0;
  /// They are complete, as far as this part of the batch goes, and may be taken away.
  virtual void end_gradients(std::size_t unit) = 0;
};

}  // namespace assay::train
