"""The search for submissions that share rare code, by fingerprints over tokens."""
