#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/json_fields.h"
#include "core/time.h"

namespace assay::agent {

// A large file that hosts pass on to each other (agent/messages.h): a host that has it offers it at
// a port to holders of a token, and another one fetches it. The data is checked against the hashes
// that the controller gave.

/// The expected content of a file: pieces of `piece_bytes`, of which the last may be shorter.
struct FileContent {
  std::uint64_t size = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<std::string> pieces{};  ///< SHA-256 of each

  static void fields(auto& self, auto&& field) {
    field("size", self.size);
    field("piece_bytes", self.piece_bytes);
    field("pieces", self.pieces);
  }
};

/// Why a file could not be fetched.
enum class FetchFault {
  none,
  unreachable,  ///< no connection
  broken,       ///< the connection ended before the file did
  slow,         ///< a piece, or the whole, took too long
  damaged,      ///< a piece has a different hash
  own,          ///< on the fetching side: the disk, or another process writes the same file
};

constexpr auto enum_names(FetchFault) {
  using enum FetchFault;
  return std::to_array<EnumName<FetchFault>>({{none, "none"},
                                              {unreachable, "unreachable"},
                                              {broken, "broken"},
                                              {slow, "slow"},
                                              {damaged, "damaged"},
                                              {own, "own"}});
}

/// Answers OfferFileRequest.
struct FileOffered {
  static constexpr const char* kType = "file_offered";
  int port = 0;
  std::string problem{};  ///< empty when it is offered

  static void fields(auto& self, auto&& field) {
    field("port", self.port);
    field.optional("problem", self.problem);
  }
};

/// Answers FetchFileRequest.
struct FileFetched {
  static constexpr const char* kType = "file_fetched";
  std::uint64_t have = 0;   ///< correct bytes present
  std::uint64_t moved = 0;  ///< those of them that this fetch brought
  FetchFault fault = FetchFault::none;
  std::string problem{};

  static void fields(auto& self, auto&& field) {
    field("have", self.have);
    field("moved", self.moved);
    field("fault", self.fault);
    field.optional("problem", self.problem);
  }
};

/// Sent once a second during a fetch.
struct FetchProgress {
  static constexpr const char* kType = "fetch_progress";
  std::uint64_t have = 0;

  static void fields(auto& self, auto&& field) { field("have", self.have); }
};

/// Offers this file at a free port of `address` until `limit` is over, it is withdrawn or the agent
/// ends.
struct OfferFileRequest {
  static constexpr const char* kType = "offer_file";
  using Answer = FileOffered;
  std::filesystem::path path;
  std::uint64_t size = 0;  ///< the expected size
  std::string address;     ///< numeric, this host's
  std::string token;       ///< whoever presents it gets the file
  Nanoseconds limit{};

  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("size", self.size);
    field("address", self.address);
    field("token", self.token);
    field("limit_ns", self.limit);
  }
};

/// Fetches the file from another host. Correct data that is already there is kept, also for the
/// next attempt.
struct FetchFileRequest {
  static constexpr const char* kType = "fetch_file";
  using Answer = FileFetched;
  std::filesystem::path path;
  FileContent content;
  std::string address;  ///< numeric
  int port = 0;
  std::string token;
  Nanoseconds limit{};

  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("content", self.content);
    field("address", self.address);
    field("port", self.port);
    field("token", self.token);
    field("limit_ns", self.limit);
  }
};

/// Nobody needs the file any more: closes the port and removes the file.
struct WithdrawFileRequest {
  static constexpr const char* kType = "withdraw_file";
  std::filesystem::path path;

  static void fields(auto& self, auto&& field) { field("path", self.path); }
};

}  // namespace assay::agent
