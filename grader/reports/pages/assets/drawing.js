// The class, and what the parts of its page share.
const DATA = JSON.parse(document.getElementById("data").textContent);
const COUNT = DATA.names.length;

// The addresses of pages are made of letters, digits and hyphens by the grader.
const address = (place) => `submissions/${encodeURIComponent(DATA.pages[place])}`;
const called = (place) => DATA.people[place] || DATA.names[place];
const linked = (place) => element("a", { href: address(place) }, called(place));

// A custom property as a colour that a canvas understands, in the colours of now.
const probe = document.body.appendChild(element("span", { hidden: "" }));
function colour(property) {
  probe.style.color = `var(${property})`;
  return getComputedStyle(probe).color;
}
const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const places = () => Array.from({ length: COUNT }, (_, place) => place);
const points = (number) => String(Math.round(number * 100) / 100);
