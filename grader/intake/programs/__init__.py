"""What is told of a submission by its source: where its adapters are, and how they are imported."""
