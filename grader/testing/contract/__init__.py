"""The adapters' contract: which kind of value each annotation asks for."""
