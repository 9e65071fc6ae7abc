"""The report as static pages that open from disk: the class, each submission, two batches."""
