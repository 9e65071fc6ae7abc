function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Light or dark: as the system has it, until somebody says otherwise.
{
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try {
      return localStorage.getItem("grader-theme");
    } catch {
      return null;
    }
  };
  let chosen = remembered();
  const show = () => {
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
    const isDark = chosen ? chosen === "dark" : dark.matches;
    button.textContent = isDark ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark ? "Light colours" : "Dark colours");
    document.dispatchEvent(new Event("theme"));
  };
  button.addEventListener("click", () => {
    chosen = (chosen ? chosen === "dark" : dark.matches) ? "light" : "dark";
    try {
      localStorage.setItem("grader-theme", chosen);
    } catch {
      // A browser that keeps nothing for pages from disk shows the choice until it is closed.
    }
    show();
  });
  dark.addEventListener("change", show);
  button.hidden = false;
  show();
}
