#pragma once

#include <vector>

#include "train/models/exchange.h"
#include "train/models/llama.h"
#include "train/models/llama_ops.h"

namespace assay::train {

// The operators of a model whose matrices several ranks share. Between them each rank has a part of
// the tokens of each sequence, [B, S / ranks, width]: norms and sums are then not done twice, and
// an all-gather before with a reduce-scatter after a pair of matrices moves no more than the
// all-reduce that it replaces.

/// All tokens of the sequences, [B, S, width]. Backward adds the ranks' gradients. With an
/// `exchange` of nullptr x itself.
[[nodiscard]] torch::Tensor gather_sequence(const torch::Tensor& x, Exchange* exchange);
/// The sum of what the ranks have, this rank's tokens of it. Backward gathers.
[[nodiscard]] torch::Tensor scatter_sequence(const torch::Tensor& x, Exchange* exchange);

/// embed_tokens() of a matrix of which each rank has the rows of some words, in the order of the
/// ranks; this rank's tokens of the sequences.
[[nodiscard]] torch::Tensor embed_shared(const torch::Tensor& tokens, const Weight& weight,
                                         torch::ScalarType type, Exchange& exchange);

/// head_losses() with such a matrix, of all tokens ([N, width], the same on all ranks). Losses are
/// those of all words, on all ranks; of the gradient dy each has its words' part, to be summed.
[[nodiscard]] TokenLosses shared_head_losses(const torch::Tensor& y, const Weight& weight,
                                             const torch::Tensor& labels, HeadGradient* gradient,
                                             bool count_right, Exchange& exchange);

/// Exchange::all_to_all(); backward sends the gradients back. With nullptr x itself.
[[nodiscard]] torch::Tensor exchange_rows(const torch::Tensor& x,
                                          const std::vector<std::int64_t>& sent,
                                          const std::vector<std::int64_t>& received,
                                          Exchange* exchange);

}  // namespace assay::train
