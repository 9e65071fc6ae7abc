// The list of submissions: a first part of it, and more when asked for.
const AT_FIRST = 50;
const MORE = 200;

class List {
  constructor() {
    this.place = document.getElementById("list");
    this.table = this.place.querySelector("table");
    this.body = this.table.tBodies[0];
    this.search = document.getElementById("search");
    this.status = document.getElementById("status");
    this.kind = document.getElementById("kind");
    this.found = document.getElementById("found");
    this.more = document.getElementById("more");
    this.all = document.getElementById("all");
    this.late = new Set(DATA.late);
    this.texts = places().map((i) =>
      [DATA.names[i], DATA.people[i], ...DATA.phrases[i], DATA.changed[i], ...DATA.marks[i]].join("\n").toLowerCase());
    this.sorted = { by: "class", descending: false };
    this.shown = AT_FIRST;
    DATA.kinds.forEach((kind, number) =>
      this.kind.append(element("option", { value: number }, `${kind.words} (${kind.who.length})`)));
    for (const input of [this.search, this.status, this.kind])
      input.addEventListener("input", () => this.select());
    this.search.form.addEventListener("submit", (event) => event.preventDefault());
    for (const button of this.table.querySelectorAll("[data-sort]"))
      button.addEventListener("click", () => this.sort(button));
    this.more.addEventListener("click", () => this.draw(this.shown + MORE));
    this.all.addEventListener("click", () => this.draw(Infinity));
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.select();
  }

  show(kind) {
    this.search.value = "";
    this.status.value = "";
    this.kind.value = kind;
    this.select();
    document.getElementById("submissions").scrollIntoView();
    this.place.focus({ preventScroll: true });
  }

  sort(button) {
    const by = button.dataset.sort;
    const descending = this.sorted.by === by && !this.sorted.descending;
    this.sorted = { by, descending };
    for (const head of this.table.querySelectorAll("th[aria-sort]")) head.removeAttribute("aria-sort");
    button.parentElement.setAttribute("aria-sort", descending ? "descending" : "ascending");
    this.select();
  }

  matches(place, words, status, who) {
    if (status === "full" && !(DATA.statuses[place] === "g" && DATA.scores[place] >= DATA.most[place])) return false;
    if (status === "late" && !this.late.has(place)) return false;
    if (status === "changed" && !DATA.changed[place] && !DATA.marks[place].length) return false;
    if ("gun".includes(status) && status && DATA.statuses[place] !== status) return false;
    if (who && !who.has(place)) return false;
    return words.every((word) => this.texts[place].includes(word));
  }

  select() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const who = this.kind.value === "" ? null : new Set(DATA.kinds[this.kind.value].who);
    this.places = places().filter((place) => this.matches(place, words, this.status.value, who));
    const { by, descending } = this.sorted;
    const order = {
      class: (a, b) => a - b,
      name: (a, b) => byName.compare(called(a), called(b)),
      // Who has no grade is neither better nor worse than anybody: they come last.
      score: (a, b) => (DATA.statuses[a] === "n") - (DATA.statuses[b] === "n") || DATA.scores[a] - DATA.scores[b],
      words: (a, b) => byName.compare(DATA.short[a], DATA.short[b]),
    }[by];
    this.places.sort((a, b) => (descending ? order(b, a) : order(a, b)) || a - b);
    this.found.textContent = `${this.places.length} of ${COUNT}`;
    this.table.setAttribute("aria-rowcount", this.places.length + 1);
    this.draw(AT_FIRST);
  }

  print(whole) {
    if (whole) this.before = this.shown;
    this.draw(whole ? Infinity : this.before);
  }

  // Rows that are there stay: to add some is quick however long the list is.
  draw(shown) {
    const drawn = shown > this.shown && this.drawn === this.places ? this.body.rows.length : 0;
    const rows = [];
    const last = Math.min(shown, this.places.length);
    for (let number = drawn; number < last; number++) rows.push(this.row(number));
    if (drawn) this.body.append(...rows);
    else this.body.replaceChildren(...rows);
    this.shown = shown;
    this.drawn = this.places;
    const left = this.places.length - last;
    this.more.parentElement.hidden = !left;
    this.more.textContent = `Show ${Math.min(MORE, left)} more`;
    this.all.textContent = `Show all ${this.places.length}`;
    this.all.hidden = left <= MORE;
  }

  row(number) {
    const place = this.places[number];
    const graded = DATA.statuses[place] !== "n";
    const name = element("th", { scope: "row" }, linked(place));
    const marks = [...(DATA.statuses[place] === "u" ? ["unreadable"] : []), ...(this.late.has(place) ? ["late"] : []), ...DATA.marks[place]];
    for (const mark of marks) name.append(" ", element("span", { class: `badge ${mark.replaceAll(" ", "-")}` }, mark));
    const excused = DATA.marks[place].includes("excused");
    const score = excused
      ? ["excused"]
      : graded
      ? [points(DATA.scores[place]), element("span", { class: "faint" }, ` / ${points(DATA.most[place])}`)]
      : ["not graded"];
    return element("tr", { "aria-rowindex": number + 2 }, name,
      element("td", { class: graded ? "number" : "number red" }, ...score),
      element("td", {}, this.words(place, graded && !excused)));
  }

  // One line, which opens where there is more to say.
  words(place, scored) {
    const phrases = DATA.phrases[place], short = DATA.short[place], changed = DATA.changed[place];
    const named = called(place) !== DATA.names[place];
    const decided = scored && DATA.machine[place] !== DATA.scores[place];
    if (!named && !changed && !decided && phrases.length === 1 && phrases[0] === short) return short;
    const said = phrases.map((phrase) => element("li", {}, phrase));
    if (named) said.push(element("li", {}, `submission ${DATA.names[place]}`));
    if (decided) said.push(element("li", {}, `${points(DATA.machine[place])} points from the tests`));
    if (changed) said.push(element("li", {}, changed));
    return element("details", {}, element("summary", {}, short), element("ul", {}, ...said));
  }
}
