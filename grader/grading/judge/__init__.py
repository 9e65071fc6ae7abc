"""The trusted side: runs the tests, holds the references, asks workers and believes nothing."""
