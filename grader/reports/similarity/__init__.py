"""Which submissions have code in common that few others have: by fingerprints over tokens."""
