#pragma once

// Stands in for Gloo's own headers, which PyTorch's packages do not bring although their library
// holds Gloo and exports the process group that uses it. That class's header needs these names; it
// keeps what they name behind pointers, so nothing here has to match Gloo's layout. Where it asks
// for more, CMake finds that it does not compile, and assay-train is built without Gloo.

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Algorithm;

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace transport

namespace rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous
}  // namespace gloo
