"""What a submission raised, told to its author: what, on which line, and what it means."""

from grader.explaining.exceptions.account import call_in_words, fault_of, printed_in_words

__all__ = ["call_in_words", "fault_of", "printed_in_words"]
