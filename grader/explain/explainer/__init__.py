"""The explainer: adds words to stored verdicts. If it is late, wrong or dead, no grade changes."""
