/**
 * The code of a new device as a picture that another device scans, and what the page to which it leads takes from its address.
 *
 * Keeps: the picture lacks the last four characters. Whoever follows it, or an address that a stranger has sent, adds nothing before they have typed
 * these, as they would have typed all of them. It stands behind the `#` of the address, which no server is sent.
 */

const TYPED = 4;
const PLACE = "#code=";
/** Groups of four, of which `TYPED` characters are left out. */
const SCANNED = /^(?:[0-9A-Z]{4}-){2}/i;

/** Draw the picture of a code into its place: `[data-edna-picture]` has the address of the page where codes are typed. */
export async function draw(place, code) {
  const { generate } = await import("../../vendor/lean-qr/lean-qr.js");
  const { toSvg } = await import("../../vendor/lean-qr/svg.js");
  const address = new URL(place.dataset.ednaPicture, location.href);
  address.hash = PLACE + code.slice(0, -TYPED);
  // Dark on light in dark mode, too: not all cameras read the other way round.
  place.querySelector("[role=img]").replaceChildren(toSvg(generate(address.href), document, { on: "#000", off: "#fff" }));
  place.hidden = false;
}

/** Begin the code that is typed here with what was scanned, if anything was. */
export function takeScanned(note) {
  const [scanned] = location.hash.startsWith(PLACE) ? (location.hash.slice(PLACE.length).match(SCANNED) ?? []) : [];
  const field = document.getElementById("id_code");
  if (!scanned || field.value) return;
  history.replaceState(null, "", location.pathname + location.search);
  note.hidden = false;
  field.value = scanned.toUpperCase();
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}
