/**
 * Where the keyboard is when a script changes the page: at what is new, so that a screen reader reads it and the next Tab leads on from there. What
 * was disabled or hidden meanwhile loses the focus, and it would begin at the top of the page again.
 */

const TAKES_IT = "a[href], button, input, select, textarea, summary, [tabindex]";

/** Go to what is new, which may be a text. */
export function goTo(element) {
  if (!element.matches(TAKES_IT)) element.tabIndex = -1;
  element.focus();
}

/** Go back to what had the focus, if it is lost and that is still there. */
export function giveBack(element) {
  const now = document.activeElement;
  if (now === null || now === document.body || now.disabled || !now.checkVisibility()) element?.focus({ preventScroll: true });
}
