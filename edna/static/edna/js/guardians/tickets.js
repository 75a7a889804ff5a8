/** Tickets and the words of a veto: docs/format.md, the table of hashes. */

import { concat, toHex } from "../base/bytes.js";

const NAME_LETTERS = 16;

/** What is shown to one guardian. */
export function tokenFor(sodium, secret, number) {
  return sodium.blake2b(Uint8Array.of(number), { person: "edna.guard.tok.1", key: secret });
}

export function ticketOf(sodium, token) {
  return sodium.blake2b(token, { person: "edna.guard.tick1" });
}

/** What a page and a guardian's message call a ticket. */
export function nameOf(ticket) {
  return toHex(ticket).slice(0, NAME_LETTERS);
}

/** By which the owner of a secret vetoes at one guardian. */
export function vetoOf(sodium, secret, { enrolment, number }) {
  return sodium.blake2b(concat(enrolment, Uint8Array.of(number)), { person: "edna.guard.veto2", key: secret.slice(0, 64) });
}

/** What every guardian stores of them. */
export function vetoHashes(sodium, secret, { enrolment, count }) {
  const words = Array.from({ length: count }, (_, at) => vetoOf(sodium, secret, { enrolment, number: at + 1 }));
  return concat(...words.map((word) => sodium.blake2b(word, { person: "edna.guard.veto1" })));
}
