// Puts the page of a class together.
const list = new List();

for (const details of document.querySelectorAll("[data-kind]")) {
  const listed = 40;
  details.addEventListener("toggle", () => {
    const place = details.querySelector(".who");
    if (place.childElementCount) return;
    const { who } = DATA.kinds[details.dataset.kind];
    who.slice(0, listed).forEach((submission, i) => place.append(i ? ", " : "", linked(submission)));
    if (who.length > listed) place.append(` and ${who.length - listed} more`);
  });
}
for (const button of document.querySelectorAll("[data-show]"))
  button.addEventListener("click", () => list.show(button.dataset.show));

if (document.getElementById("scores")) scorePlot(document.getElementById("scores"));
