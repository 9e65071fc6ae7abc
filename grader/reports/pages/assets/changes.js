// Filters what changed by the words of a search.
{
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const items = [...document.querySelectorAll(".changes > li")];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const select = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    items.forEach((item, i) => {
      item.hidden = !words.every((word) => texts[i].includes(word));
      count += !item.hidden;
    });
    for (const section of document.querySelectorAll("section:has(.changes)"))
      section.hidden = !section.querySelector(".changes > li:not([hidden])");
    found.textContent = `${count} of ${items.length}`;
  };
  search?.addEventListener("input", select);
  search?.form.addEventListener("submit", (event) => event.preventDefault());
  if (search) select();
}
