"""The trusted end of workers: has them forked, asks them, and believes nothing that they say."""
