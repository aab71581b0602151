// _pack_padded_sequence.
#pragma once

namespace flagos::ops {

// Registers its kernel. The second result, batch_sizes, is a CPU tensor on every device (torch.nn.utils.rnn insists);
// with the CPU as the target, boxing would take it for a result on the target. Called once, while the library is
// loaded.
void register_packed_sequence();

}  // namespace flagos::ops
