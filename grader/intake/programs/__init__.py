"""Facts from a submission's source: where its adapters are, and how to import them."""
