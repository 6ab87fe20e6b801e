#pragma once

#include <vector>

#include "train/models/exchange.h"
#include "train/models/llama.h"
#include "train/models/llama_ops.h"

namespace assay::train {

// The operators of a model whose matrices several ranks share. In between, each rank has part of
// each sequence's tokens, [B, S / ranks, width]: norms and sums are then not done twice, and an
// all-gather before plus a reduce-scatter after a pair of matrices moves no more than the
// all-reduce they replace.

/// All tokens of the sequences, [B, S, width]. Backward adds the ranks' gradients. Returns x itself
/// if `exchange` is nullptr.
[[nodiscard]] torch::Tensor gather_sequence(const torch::Tensor& x, Exchange* exchange);
/// This rank's tokens of the sum over the ranks. Backward gathers.
[[nodiscard]] torch::Tensor scatter_sequence(const torch::Tensor& x, Exchange* exchange);

/// embed_tokens() for a matrix of which each rank has some words' rows, in rank order; returns this
/// rank's tokens of the sequences.
[[nodiscard]] torch::Tensor embed_shared(const torch::Tensor& tokens, const Weight& weight,
                                         torch::ScalarType type, Exchange& exchange);

/// head_losses() with such a matrix, for all tokens ([N, width], the same on all ranks). The losses
/// cover all words, on all ranks; of the gradient dy each rank has its words' part, to be summed.
[[nodiscard]] TokenLosses shared_head_losses(const torch::Tensor& y, const Weight& weight,
                                             const torch::Tensor& labels, HeadGradient* gradient,
                                             bool count_right, Exchange& exchange);

/// Exchange::all_to_all(); backward sends the gradients back. Returns x itself for nullptr.
[[nodiscard]] torch::Tensor exchange_rows(const torch::Tensor& x,
                                          const std::vector<std::int64_t>& sent,
                                          const std::vector<std::int64_t>& received,
                                          Exchange* exchange);

}  // namespace assay::train
