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
function channels(property) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  context.fillStyle = colour(property);
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

// Names of exercises mostly begin alike (`run_`), which says nothing where there is little room.
const [FIRST = ""] = DATA.exercises;
const BEGINNING = FIRST.slice(0, FIRST.indexOf("_") + 1);
const alike = DATA.exercises.every((name) => name.startsWith(BEGINNING));
const exerciseName = (number) => DATA.exercises[number].slice(alike ? BEGINNING.length : 0);

// What names differ in is as often at their end as at their beginning.
function shortened(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const places = () => Array.from({ length: COUNT }, (_, place) => place);
const points = (number) => String(Math.round(number * 100) / 100);
