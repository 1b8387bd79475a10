// What a link or a form cannot do alone: keys that step through a run. Pages work without it.
"use strict";

document.documentElement.classList.add("scripted");

// Arrows, Home and End follow the links that say so (data-key), unless somebody is typing, or
// scrolls a part of the page with them.
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const within = event.target.closest("input, textarea, select, [contenteditable], .wide");
  if (within && !(within.matches(".wide") && within.scrollWidth <= within.clientWidth)) return;
  // Up and down scroll the page, but for the list of steps.
  const sideways = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" };
  const key = event.target.closest(".timeline") ? (sideways[event.key] ?? event.key) : event.key;
  const link = document.querySelector(`a[data-key="${CSS.escape(key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});

// A point of a chart stands for the link that it names (data-click).
document.addEventListener("click", (event) => {
  const point = event.target.closest("[data-click]");
  if (point) document.querySelector(point.dataset.click)?.click();
});

// Once a part of the page was swapped, the step that it shows is in sight in its list, has the
// focus if the list or a link that is gone had it, and is said to who cannot see it.
let focused = null;
document.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement;
});
document.addEventListener("htmx:afterSettle", () => {
  const current = document.querySelector(".timeline a[aria-current]");
  if (current) keepInSight(current);
  const lost = focused && focused !== document.body && !document.contains(focused);
  if (lost && focused.closest(".timeline")) current?.focus({ preventScroll: true });
  else if (lost && !document.getElementById(focused.id)) {
    (document.querySelector(".pager a") ?? current)?.focus({ preventScroll: true });
  }
  focused = null;
  const said = document.querySelector("[data-announce]")?.dataset.announce;
  const place = document.getElementById("announce");
  if (said && place && place.textContent !== said) place.textContent = said;
});
document.addEventListener("DOMContentLoaded", () => {
  const current = document.querySelector(".timeline a[aria-current]");
  if (current) keepInSight(current);
});

// Scroll the list that a link is in, and not the page.
function keepInSight(link) {
  const list = link.closest(".timeline");
  const top = link.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop;
  if (top < list.scrollTop || top + link.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - (list.clientHeight - link.offsetHeight) / 2;
  }
}

// The workbench: a form's answer takes the place of the case, whatever its status, and focus goes
// to what was seen; an amount of cents is shown as money; code can be copied.

// What is no answer to the form, such as a page that asks for a key, is shown as a whole.
document.addEventListener("htmx:beforeSwap", (event) => {
  const detail = event.detail;
  if (!["desk", "act", "start"].includes(detail.target?.id)) return;
  if (detail.xhr.status < 400 && detail.serverResponse.includes(`id="${detail.target.id}"`)) return;
  detail.shouldSwap = true;
  detail.isError = false;
  detail.target = document.getElementById("main");
  detail.selectOverride = "#main";
  detail.swapOverride = "outerHTML";
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (!["desk", "act", "start", "main"].includes(event.detail.target?.id)) return;
  if (event.detail.requestConfig?.verb === "post") {
    const next = "main [aria-invalid], main [role=alert], #desk [data-focus], main h1";
    const found = next.split(", ").map((one) => document.querySelector(one)).find(Boolean);
    if (found && found.tabIndex < 0) found.tabIndex = -1;
    found?.focus();
  }
  enhance();
});

const showMoney = (input) => {
  const shown = document.getElementById(input.dataset.cents);
  const typed = input.value.trim();
  if (!/^\d{1,12}$/.test(typed)) return void (shown.textContent = "");
  const cents = Number(typed);
  const whole = `${Math.floor(cents / 100).toLocaleString("en-US")}.${String(cents % 100).padStart(2, "0")}`;
  const currency = input.dataset.currency;
  shown.textContent = currency === "USD" ? `$${whole}` : `${whole} ${currency}`;
};

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-cents]")) showMoney(event.target);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const code = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    // A browser that lets no page copy lets a person: the code is selected.
    getSelection().selectAllChildren(code);
    button.textContent = "Selected: press Ctrl+C";
  }
});

// What only works with a script is shown by one.
function enhance() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  for (const input of document.querySelectorAll("[data-cents]")) showMoney(input);
}
enhance();

// What a filter leaves open stays out of the address.
document.addEventListener("htmx:configRequest", (event) => {
  const { verb, parameters } = event.detail;
  if (verb !== "get") return;
  for (const [name, value] of Object.entries(parameters)) {
    if (value === "") delete parameters[name];
  }
});
