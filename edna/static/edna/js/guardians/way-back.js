/**
 * A way back to a key with the help of the site's guardians: made, asked for, and opened, here in the browser.
 *
 * Keeps: the key, the PIN, the tickets and what guardians help to stay here. The site passes on shares that are sealed to each guardian, keeps the
 * envelope, and is not asked when somebody comes back: guardians are, at their own addresses. Knows no page.
 */

import { fromBase64, toBase64, concat } from "../base/bytes.js";
import { EdnaError, EnvelopeRefused, GuardianRefused, QuorumUnavailable, TicketRefused, WrongCredentials } from "../base/errors.js";
import { openBySecret } from "../custody.js";
import { sent } from "../server.js";
import { parseRecoveryCode, recoveryCodeText } from "../slots.js";
import { askedOf, dealShares, makeEnvelope, openEnvelope, parseEnvelope } from "./envelope.js";
import { blind, combine, factorOf, partsOf } from "./evaluation.js";
import { randomScalar } from "./group.js";
import { nameOf, ticketOf, tokenFor, vetoHashes, vetoOf } from "./tickets.js";

const KIND = "guardians";
const LONGEST_WAIT_MS = 10_000;
// What a guardian says of itself, and may be beyond all calendars.
const MOST_SECONDS_TO_WAIT = 3660 * 86_400;

/** The site's guardians: `{threshold, guardians: [{number, name, address, publicKey}]}`. */
export async function roster(server) {
  const { threshold, guardians } = await server.post("guardians/roster", {});
  return { threshold, guardians: guardians.map(({ public_key: key, ...each }) => ({ ...each, publicKey: fromBase64(key) })) };
}

/** Have the guardians keep a way back to an open key. Returns the numbers of those that have no share yet. */
export async function enroll(sodium, server, key, { identifier, contact, pin = "" }) {
  const { threshold, guardians } = await roster(server);
  const count = guardians.length;
  const [scalar, salt] = [randomScalar(sodium), sodium.random(16)];
  const enrolment = sodium.blake2b(key.publicKey, { person: "edna.guard.enr.1", key: salt, size: 16 });
  const coefficients = [scalar, ...Array.from({ length: threshold - 1 }, () => randomScalar(sodium))];
  const { shares, commitments } = dealShares(sodium, coefficients, count);
  const secret = secretFor(sodium, key.pair, salt);
  const envelope = makeEnvelope(sodium, secret, { count, threshold, enrolment, scalar, pin, random: sodium.random(32) });
  const { missing } = await key.ask("guardians/enroll", {
    identifier,
    contact,
    envelope: toBase64(envelope),
    salt: toBase64(salt),
    commitments: toBase64(concat(...commitments)),
    vetoes: toBase64(vetoHashes(sodium, secret, { enrolment, count })),
    shares: guardians.map(({ publicKey }, at) => toBase64(sodium.seal(shares[at], publicKey))),
    slots: [sent(await key.makeSlot(KIND, secret))],
  });
  return missing;
}

/** Whether guardians keep a way back to this key. */
export async function isEnrolled(key) {
  return (await key.ask("guardians/own", {})).kept !== null;
}

/** Have them forget it. Returns the numbers of those who have not heard it. */
export async function withdraw(key) {
  return (await key.ask("guardians/withdraw", {})).missing;
}

/** Refuse what anybody has asked about this key. Returns the numbers of those who have not heard it. */
export async function veto(sodium, server, key) {
  const { kept } = await key.ask("guardians/own", {});
  if (kept === null) return [];
  const { enrolment } = parseEnvelope(sodium, fromBase64(kept.envelope));
  const secret = secretFor(sodium, key.pair, fromBase64(kept.salt));
  const { guardians } = await roster(server);
  const answers = await each(guardians, ({ number }) => ["/veto", { enrolment, veto: vetoOf(sodium, secret, { enrolment, number }) }]);
  return answers.flatMap((answer, at) => (answer instanceof EdnaError ? [guardians[at].number] : []));
}

/** What guardians help to: it opens a slot of the key. */
function secretFor(sodium, { secretKey, seed = secretKey }, salt) {
  return sodium.blake2b(salt, { person: "edna.guard.slot1", key: seed });
}

/** What somebody who has nothing left asks of the guardians. Whoever has `code`, a text, goes on with it, here or elsewhere. */
export class Request {
  #sodium;
  #server;
  #about;

  constructor(sodium, server, code, about) {
    [this.#sodium, this.#server, this.code, this.#about] = [sodium, server, code, about];
  }

  /** Ask anew. Throws WrongCredentials if nobody of that name has guardians here. */
  static async ask(sodium, server, identifier) {
    const request = await Request.goOn(sodium, server, identifier, recoveryCodeText(sodium, sodium.random(16)));
    for (const { envelope, tokens, guardians } of request.#about) {
      await each(guardians, ({ number }) => ["/ticket", { enrolment: envelope.enrolment, token: tokens.get(number) }]);
    }
    return request;
  }

  /** Go on with a request. Throws WrongCredentials, RecoveryCodeMalformed. */
  static async goOn(sodium, server, identifier, code) {
    const key = sodium.blake2b(parseRecoveryCode(sodium, code), { person: "edna.guard.req.1" });
    const [{ envelopes }, { guardians }] = await Promise.all([server.post("guardians/envelopes", { identifier }), roster(server)]);
    if (!envelopes.length) throw new WrongCredentials("There is nothing here that guardians could help with: check the name.");
    const about = envelopes.map((text) => {
      const envelope = parseEnvelope(sodium, fromBase64(text));
      const secret = sodium.blake2b(envelope.bytes, { person: "edna.guard.req.2", key });
      const tokens = new Map(guardians.map(({ number }) => [number, tokenFor(sodium, secret, number)]));
      return { envelope, secret, tokens, guardians };
    });
    return new Request(sodium, server, code, about);
  }

  /** How far it is: `{needed, helping, answers: [{number, name, request, helps, waitsForCode, waitsSeconds, isRefused, isAway}]}`. */
  async look() {
    const found = await Promise.all(this.#about.map((one) => this.#state(one)));
    return found.reduce((most, one) => (one.helping > most.helping ? one : most));
  }

  /** Of a name that several people have had: that first whose owner has given guardians a code, for they alone could; then by how many help. */
  async #mostLikelyFirst() {
    if (this.#about.length < 2) return this.#about;
    const found = await Promise.all(this.#about.map(async (one) => ({ one, ...(await this.#state(one)) })));
    const confirmed = ({ answers }) => answers.filter((answer) => answer.isConfirmed).length;
    found.sort((first, second) => confirmed(second) - confirmed(first) || second.helping - first.helping);
    return found.map(({ one }) => one);
  }

  async #state({ envelope, tokens, guardians }) {
    const said = await each(guardians, ({ number }) => ["/waits", { token: tokens.get(number) }]);
    const answers = guardians.map(({ number, name }, at) => ({
      number,
      name,
      request: nameOf(ticketOf(this.#sodium, tokens.get(number))),
      helps: said[at].helps === true,
      waitsForCode: said[at].for_code === true,
      isConfirmed: said[at].confirmed === true,
      waitsSeconds: secondsIn(said[at].retry_after_seconds),
      isRefused: said[at] instanceof TicketRefused,
      isAway: said[at] instanceof GuardianRefused,
    }));
    return { needed: envelope.threshold, helping: answers.filter(({ helps }) => helps).length, answers };
  }

  /** Give a guardian its code. Throws TicketRefused, GuardianRefused. */
  async confirm(number, code) {
    let refusal = null;
    for (const { envelope, tokens, guardians } of this.#about) {
      const guardian = guardians.find((one) => one.number === number);
      const [answer] = await each([guardian], () => ["/confirm", { enrolment: envelope.enrolment, token: tokens.get(number), code }]);
      if (!(answer instanceof EdnaError)) return;
      refusal = answer;
    }
    throw refusal;
  }

  /** The key, open. Throws QuorumUnavailable, EnvelopeRefused (another PIN), WrongCredentials (the key was replaced since). */
  async recover({ pin = "" } = {}) {
    const refusals = [];
    for (const one of await this.#mostLikelyFirst()) {
      try {
        return await openBySecret(this.#sodium, this.#server, await this.#opened(one, pin));
      } catch (error) {
        if (!(error instanceof QuorumUnavailable || error instanceof EnvelopeRefused || error instanceof WrongCredentials)) throw error;
        refusals.push(error);
      }
    }
    throw refusals.find((error) => error instanceof EnvelopeRefused) ?? refusals[0];
  }

  async #opened({ envelope, secret, tokens, guardians }, pin) {
    const asked = askedOf(envelope, pin);
    const blinded = blind(this.#sodium, asked, factorOf(this.#sodium, secret, asked));
    const answers = await each(guardians, ({ number }) => ["/evaluate", { token: tokens.get(number), point: blinded.point }]);
    const parts = answers.flatMap((answer, at) => {
      try {
        if (answer instanceof EdnaError) return [];
        return partsOf(this.#sodium, answer, { enrolment: envelope.enrolment, number: guardians[at].number });
      } catch (error) {
        if (error instanceof GuardianRefused) return [];
        throw error;
      }
    });
    const { output } = combine(this.#sodium, blinded, parts, envelope);
    return openEnvelope(this.#sodium, envelope, output);
  }
}

function secondsIn(number) {
  return Number.isSafeInteger(number) && number >= 0 && number <= MOST_SECONDS_TO_WAIT ? number : null;
}

/** What each of these guardians answers, or the error by which it does not. `question` makes its path and what is said. */
async function each(guardians, question) {
  return Promise.all(
    guardians.map(async (guardian) => {
      const [path, said] = question(guardian);
      try {
        return await tell(guardian, path, said);
      } catch (error) {
        return error instanceof EdnaError ? error : new GuardianRefused(`Guardian ${guardian.number} cannot be reached.`);
      }
    }),
  );
}

async function tell({ number, address }, path, said) {
  const encoded = Object.entries(said).map(([name, value]) => [name, value instanceof Uint8Array ? toBase64(value) : value]);
  const response = await fetch(address.replace(/\/$/, "") + path, {
    method: "POST",
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
    referrerPolicy: "no-referrer",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(Object.fromEntries(encoded)),
    signal: AbortSignal.timeout(LONGEST_WAIT_MS),
  });
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const kind = response.status === 403 ? TicketRefused : GuardianRefused;
  const error = new kind(`Guardian ${number}: ${answer?.error?.message ?? "answers rubbish."}`);
  error.retryAfterSeconds = answer?.retry_after_seconds ?? null;
  throw error;
}
