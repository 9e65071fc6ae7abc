"""How wrong answers are explained: by the explainer and at home, and never by a judge."""
