"""The trusted end of workers: starts them, asks them, and believes nothing that they say."""
