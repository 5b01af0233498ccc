"""Judge the answers: agreement, aggregation, annotators, guideline checks, filters, the audit."""
