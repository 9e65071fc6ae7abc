import unicodedata


def kind(character: str) -> str:
    if character.isspace():
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(character)[0], "other")


def words(text: str):
    """GPT-2's words, by hand."""
    at = 0
    while at < len(text):
        for contraction in ("'ll", "'ve", "'re", "'s", "'d", "'m", "'t"):
            if text.startswith(contraction, at):
                yield contraction
                at += len(contraction)
                break
        else:
            first = at
            if text[at] == " " and at + 1 < len(text) and kind(text[at + 1]) != "space":
                at += 1
            own = kind(text[at])
            while at < len(text) and kind(text[at]) == own:
                at += 1
            if own == "space" and at < len(text) and at - first > 1:
                at -= 1
            yield text[first:at]
