#include <array>

#include "flagos/redispatch.h"

namespace flagos {
namespace {

struct ReasonText {
  const char* code;
  const char* help;
};

constexpr std::array<ReasonText, static_cast<size_t>(Reason::kCount)> kTexts{{
    {"", "The fast path was taken: the target's kernel ran without a second walk through the dispatcher."},
    {"FP-CONJ",
     "An argument is lazily conjugated and the op has no kernel of its own for that, so PyTorch must materialise it "
     "first. Call resolve_conj() once on a tensor that is used often."},
    {"FP-NEG",
     "An argument is lazily negated (for instance .imag of a conjugated tensor), so PyTorch must materialise it first. "
     "Call resolve_neg() once on a tensor that is used often."},
    {"FP-ZERO",
     "An argument is an efficient zero tensor, which has no memory; PyTorch handles it above the backend. It comes from "
     "forward-mode automatic differentiation and needs no action."},
    {"FP-FUNCTIONALIZE",
     "An argument is a functionalization wrapper, or the Functionalize key is active; the call must go through it. "
     "torch.compile does this while tracing; compiled code does not."},
    {"FP-VMAP",
     "A functorch level (vmap, grad, jvp) is active for an argument; its batching rule must run first. The calls that "
     "the rule makes take the fast path."},
    {"FP-PYTHON",
     "A Python tensor subclass or TorchDispatchMode must see the call. Leave the mode, or unwrap the subclass, where "
     "speed matters."},
    {"FP-AUTOGRAD",
     "An autograd key is active below autograd: the kernel was called without AutoDispatchBelowADInplaceOrView. Call the "
     "op through the dispatcher instead of redispatching to the backend."},
    {"FP-AUTOCAST",
     "An autocast key is active for the target. Autocast for flagos tensors is decided above their kernels, under "
     "device type \"flagos\"."},
    {"FP-OTHER", "A dispatch key above the backend's must see the call; the key is named beside the code."},
    {"FP-OFF",
     "The kill switch is set: FLAGOS_NO_REDISPATCH, set_redispatch_enabled(false) or a RedispatchGuard. Unset it."},
    {"FP-ROUTE", "A route sends this op elsewhere. See FLAGOS_BACKEND_CONFIG and FLAGOS_OP_<name>."},
    {"FP-NOKERNEL", "The target has no kernel for this op. The fallback (see FLAGOS_FALLBACK) decides what happens."},
    {"FP-DEVICE",
     "An argument lives on a backend that outranks the target's, so another kernel is the right one. Move the argument "
     "to flagos."},
}};

}  // namespace

const char* reason_code(Reason reason) noexcept { return kTexts.at(static_cast<size_t>(reason)).code; }
const char* reason_help(Reason reason) noexcept { return kTexts.at(static_cast<size_t>(reason)).help; }

}  // namespace flagos
