/** What the vectors of guardians ask of a client. */

import { fromHex, toHex } from "../../edna/static/edna/js/base/bytes.js";
import { GuardianRefused } from "../../edna/static/edna/js/base/errors.js";
import * as envelopes from "../../edna/static/edna/js/guardians/envelope.js";
import * as evaluation from "../../edna/static/edna/js/guardians/evaluation.js";
import * as group from "../../edna/static/edna/js/guardians/group.js";
import * as tickets from "../../edna/static/edna/js/guardians/tickets.js";

function combine(sodium, given) {
  const wrong = [];
  const parts = Object.entries(given.answers).flatMap(([number, answer]) => {
    try {
      return evaluation.partsOf(sodium, answer, { enrolment: fromHex(given.enrolment), number: Number(number) });
    } catch (error) {
      if (!(error instanceof GuardianRefused)) throw error;
      wrong.push(Number(number));
      return [];
    }
  });
  const blinded = evaluation.blind(sodium, fromHex(given.input), fromHex(given.factor));
  const secretCommitment = fromHex(given.secret_commitment);
  const found = evaluation.combine(sodium, blinded, parts, { threshold: given.threshold, secretCommitment });
  const all = [...new Set([...wrong, ...found.wrong])].sort((one, other) => one - other);
  return { output: toHex(found.output), wrong: all };
}

function makeEnvelope(sodium, given) {
  const scalar = fromHex(given.secret_scalar);
  const [enrolment, random] = [fromHex(given.enrolment), fromHex(given.random)];
  const { count, threshold, pin } = given;
  const made = envelopes.makeEnvelope(sodium, fromHex(given.secret), { count, threshold, pin, enrolment, random, scalar });
  const asked = envelopes.askedOf(envelopes.parseEnvelope(sodium, made), pin);
  return { envelope: toHex(made), asked: toHex(asked) };
}

function openShare(sodium, given) {
  const secretKey = fromHex(given.secret_key);
  const share = sodium.openSealedBox(fromHex(given.sealed), sodium.publicKey(secretKey), secretKey);
  if (share === null) throw new GuardianRefused("This share does not open.");
  const commitments = given.commitments.map(fromHex);
  envelopes.checkShare(sodium, group.scalarOf(share), { number: given.number, commitments });
  return toHex(share);
}

export const GUARDIANS = {
  blind: (sodium, given) => toHex(evaluation.blind(sodium, fromHex(given.input), fromHex(given.factor)).point),
  blind_request: (sodium, given) => {
    const [data, secret] = [fromHex(given.input), fromHex(given.secret)];
    return toHex(evaluation.blind(sodium, data, evaluation.factorOf(sodium, secret, data)).point);
  },
  check_parts: (sodium, given) => {
    const parts = evaluation.partsOf(sodium, given.answer, { enrolment: fromHex(given.enrolment), number: given.number });
    return parts.map((part) => (evaluation.checkPart(sodium, part, fromHex(given.point)), part.epoch));
  },
  check_point: (sodium, given) => toHex(group.pointOf(sodium, fromHex(given))),
  check_scalar: (_, given) => toHex(group.scalarOf(fromHex(given))),
  combine,
  deal: (sodium, given) => {
    const dealt = envelopes.dealShares(sodium, given.coefficients.map(fromHex), given.count);
    return { shares: dealt.shares.map(toHex), commitments: dealt.commitments.map(toHex) };
  },
  envelope_input: (sodium, given) =>
    toHex(envelopes.askedOf(envelopes.parseEnvelope(sodium, fromHex(given.envelope)), given.pin)),
  hash_to_point: (sodium, given) => toHex(group.hashToPoint(sodium, fromHex(given))),
  make_envelope: makeEnvelope,
  open_envelope: (sodium, given) =>
    toHex(
      envelopes.openEnvelope(sodium, envelopes.parseEnvelope(sodium, fromHex(given.envelope)), fromHex(given.output)),
    ),
  open_share: openShare,
  public_share: (sodium, given) =>
    toHex(group.publicShare(sodium, given.commitments.map(fromHex), given.number)),
  read_envelope: (sodium, given) => toHex(envelopes.parseEnvelopeText(sodium, given).bytes),
  ticket: (sodium, given) => {
    const token = tickets.tokenFor(sodium, fromHex(given.secret), given.number);
    const ticket = tickets.ticketOf(sodium, token);
    return { token: toHex(token), ticket: toHex(ticket), name: tickets.nameOf(ticket) };
  },
  vetoes: (sodium, given) => {
    const [secret, enrolment] = [fromHex(given.secret), fromHex(given.enrolment)];
    const numbers = Array.from({ length: given.count }, (_, at) => at + 1);
    return {
      words: numbers.map((number) => toHex(tickets.vetoOf(sodium, secret, { enrolment, number }))),
      hashes: toHex(tickets.vetoHashes(sodium, secret, { enrolment, count: given.count })),
    };
  },
};
