// The list of submissions: only the rows that can be seen are in the page.
class List {
  constructor() {
    this.scroller = document.getElementById("list");
    this.table = this.scroller.querySelector("table");
    this.body = this.table.tBodies[0];
    this.search = document.getElementById("search");
    this.status = document.getElementById("status");
    this.kind = document.getElementById("kind");
    this.found = document.getElementById("found");
    this.late = new Set(DATA.late);
    this.texts = places().map((i) => `${DATA.names[i]}\n${DATA.people[i]}\n${DATA.words[i]}`.toLowerCase());
    this.sorted = { by: "class", descending: false };
    this.whole = false;
    this.rows = new Map();
    DATA.kinds.forEach((kind, number) =>
      this.kind.append(element("option", { value: number }, `${kind.words} (${kind.who.length})`)));
    for (const input of [this.search, this.status, this.kind])
      input.addEventListener("input", () => this.select());
    this.search.form.addEventListener("submit", (event) => event.preventDefault());
    for (const button of this.table.querySelectorAll("[data-sort]"))
      button.addEventListener("click", () => this.sort(button));
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw());
    addEventListener("beforeprint", () => this.drawAll(true));
    addEventListener("afterprint", () => this.drawAll(false));
    this.select();
  }

  show(kind) {
    this.search.value = "";
    this.status.value = "";
    this.kind.value = kind;
    this.select();
    document.getElementById("submissions").scrollIntoView();
    this.scroller.focus({ preventScroll: true });
  }

  sort(button) {
    const by = button.dataset.sort;
    const descending = this.sorted.by === by ? !this.sorted.descending : by === "seconds";
    this.sorted = { by, descending };
    for (const head of this.table.querySelectorAll("th[aria-sort]")) head.removeAttribute("aria-sort");
    button.parentElement.setAttribute("aria-sort", descending ? "descending" : "ascending");
    this.select();
  }

  matches(place, words, status, who) {
    if (status === "full" && !(DATA.statuses[place] === "g" && DATA.scores[place] >= DATA.most[place])) return false;
    if (status === "late" && !this.late.has(place)) return false;
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
      name: (a, b) => byName.compare(DATA.names[a], DATA.names[b]),
      // Who has no grade is neither better nor worse than anybody: they come last.
      score: (a, b) => (DATA.statuses[a] === "n") - (DATA.statuses[b] === "n") || DATA.scores[a] - DATA.scores[b],
      words: (a, b) => byName.compare(DATA.words[a], DATA.words[b]),
      seconds: (a, b) => DATA.seconds[a] - DATA.seconds[b],
    }[by];
    this.places.sort((a, b) => (descending ? order(b, a) : order(a, b)) || a - b);
    this.found.textContent = `${this.places.length} of ${COUNT}`;
    this.table.setAttribute("aria-rowcount", this.places.length + 1);
    this.scroller.scrollTop = 0;
    this.rows.clear();
    this.draw();
  }

  drawAll(whole) {
    this.whole = whole;
    this.draw();
  }

  draw() {
    const height = 2.5 * parseFloat(getComputedStyle(document.documentElement).fontSize);
    const visible = Math.ceil(this.scroller.clientHeight / height) + 1;
    const spare = 12;
    const first = this.whole ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / height) - spare);
    const last = this.whole ? this.places.length : Math.min(this.places.length, first + visible + 2 * spare);
    const shown = new Map();
    for (let number = first; number < last; number++)
      shown.set(number, this.rows.get(number) ?? this.row(number));
    this.rows = shown;
    this.body.replaceChildren(
      this.space(first * height), ...shown.values(), this.space((this.places.length - last) * height));
  }

  space(height) {
    const cell = element("td");
    cell.style.height = `${height}px`;
    return element("tr", { class: "space", "aria-hidden": "true" }, cell);
  }

  row(number) {
    const place = this.places[number];
    const graded = DATA.statuses[place] !== "n";
    const name = element("th", { scope: "row", title: DATA.names[place] }, linked(place));
    if (this.late.has(place)) name.append(element("span", { class: "badge" }, "late"));
    if (DATA.people[place] && DATA.people[place] !== DATA.names[place])
      name.append(element("span", { class: "people" }, DATA.people[place]));
    const score = graded
      ? [points(DATA.scores[place]), element("span", { class: "faint" }, ` / ${points(DATA.most[place])}`)]
      : ["not graded"];
    return element("tr", { "aria-rowindex": number + 2 }, name,
      element("td", { class: graded ? "number" : "number red" }, ...score),
      element("td", { title: DATA.words[place] }, DATA.words[place]),
      element("td", { class: "number" }, DATA.seconds[place].toFixed(1)));
  }
}
