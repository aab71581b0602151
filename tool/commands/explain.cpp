#include "commands/explain.h"

#include <fmt/format.h>

#include "cli/operator_names.h"
#include "flagos/flagos.h"
#include "prediction/dispatch_table.h"
#include "prediction/operator_facts.h"

namespace flagos::diag {
namespace {

using c10::DispatchKey;

constexpr const char* kKindHelp[] = {
    ("Boxed: its arguments are shown to the target's kernel as tensors of the target, by the fast path where nothing "
     "forbids it."),
    "A view on metadata alone: it runs on the flagos tensor as it is and is never boxed.",
    "PyTorch makes it of other operators; what those do counts.",
    "No kernel of its own: the boxed stack fallback takes it to the target's kernel, or to the CPU's.",
    "Not known to the dispatcher."};

Report explain_codes(const std::optional<Reason>& only) {
  Report report;
  report.command = "explain";
  report.fields = {"code", "meaning"};
  for (size_t i = 1; i < static_cast<size_t>(Reason::kCount); ++i) {
    const auto reason = static_cast<Reason>(i);
    if (!only.has_value() || *only == reason) {
      report.rows.push_back({{"code", reason_code(reason)}, {"meaning", reason_help(reason)}});
    }
  }
  return report;
}

// The keys a flagos tensor's call can meet, highest first: the order in which they are asked.
std::vector<DispatchKey> keys_of_a_call() {
  return {DispatchKey::PythonTLSSnapshot,
          DispatchKey::FuncTorchDynamicLayerFrontMode,
          DispatchKey::FuncTorchBatched,
          DispatchKey::AutocastPrivateUse1,
          DispatchKey::AutogradPrivateUse1,
          DispatchKey::ADInplaceOrView,
          DispatchKey::ZeroTensor,
          DispatchKey::Negative,
          DispatchKey::Conjugate,
          DispatchKey::Functionalize,
          DispatchKey::Python,
          DispatchKey::BackendSelect,
          DispatchKey::PrivateUse1,
          target_dispatch_key()};
}

void add_operator(Report& report, const std::string& op) {
  const auto handle = operator_handle(op);
  const DispatchTable table(handle);
  for (const DispatchKey key : keys_of_a_call()) {
    const TableEntry* entry = table.at(key);
    Row row = {{"op", std::string(without_aten(op))}, {"key", c10::toString(key)}};
    row["does"] = entry == nullptr ? "nothing there" : entry->fallthrough ? "falls through" : entry->kind;
    row["source"] = entry == nullptr ? Row(nullptr) : Row(entry->source);
    report.rows.push_back(std::move(row));
  }
  const KernelKind kind = kernel_kind(op);
  report.notes.push_back(fmt::format("{}\n  {}: {}", c10::toString(handle.schema()), kernel_kind_name(kind),
                                     kKindHelp[static_cast<size_t>(kind)]));
}

}  // namespace

CLI::App* Explain::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "What a reason code means, or what is registered for an operator");
  command->add_option("CODE|OP", subject_, "FP-CONJ, or an operator; nothing: all codes");
  return command;
}

Outcome Explain::run(const GlobalOptions& /*options*/) {
  const auto reason = reason_of(subject_);
  if (subject_.empty() || reason.has_value()) {
    return {explain_codes(reason), ExitCode::kAsHoped};
  }
  Outcome outcome;
  outcome.report.command = "explain";
  outcome.report.fields = {"op", "key", "does", "source"};
  for (const auto& op : select_operators({subject_}, all_operators())) {
    add_operator(outcome.report, op);
  }
  return outcome;
}

}  // namespace flagos::diag
