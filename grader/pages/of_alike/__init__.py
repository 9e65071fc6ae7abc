"""The pages that show which submissions have code in common."""
