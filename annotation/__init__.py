"""Ask people: task pages, batches, crowds, our MTurk-compatible server, the payment ledger."""
