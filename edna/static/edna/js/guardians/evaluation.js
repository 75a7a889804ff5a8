/** What guardians compute together, and its verification: docs/format.md, "A guardian's part" and "Combining". */

import { concat, equal, fromBase64, toHex } from "../base/bytes.js";
import { GuardianRefused, QuorumUnavailable } from "../base/errors.js";
import * as group from "./group.js";

/** An input on its way to guardians, blinded by a factor. */
export function blind(sodium, data, factor) {
  return { data, factor, point: group.multiply(sodium, group.hashToPoint(sodium, data), factor) };
}

/** The factor that a request blinds an input with: the same for the same PIN, so that asking again is no further guess. */
export function factorOf(sodium, secret, data) {
  return group.hashToScalar(sodium, concat(secret, data), "edna.guard.bln.1");
}

/** The parts that a guardian answers, in the shape that they have to have. Throws GuardianRefused. */
export function partsOf(sodium, answer, { enrolment, number }) {
  if (!Array.isArray(answer?.partials)) throw new GuardianRefused(`Guardian ${number} answers something else than it was asked.`);
  return answer.partials.slice(0, 2).map((each) => {
    if (!Number.isSafeInteger(each?.epoch) || each.epoch < 0) throw new GuardianRefused("An epoch is a number from 0.");
    return {
      enrolment,
      number,
      epoch: each.epoch,
      point: group.pointOf(sodium, group.bytesOf(each.point, 32)),
      publicShare: group.pointOf(sodium, group.bytesOf(each.public_share, 32)),
      challenge: group.bytesOf(each.challenge, 32),
      response: group.bytesOf(each.response, 32),
      commitments: group.uncheckedPointsOf(typeof each.commitments === "string" ? fromBase64(each.commitments) : null),
    };
  });
}

/** Throws GuardianRefused if the share behind the part's public share did not make it, for this point and place. */
export function checkPart(sodium, part, point) {
  const challenge = group.scalarOf(part.challenge);
  const response = group.scalarOf(part.response);
  const first = sodium.subtractPoints(group.multiplyBase(sodium, response), group.multiply(sodium, part.publicShare, challenge));
  const second = sodium.subtractPoints(group.multiply(sodium, point, response), group.multiply(sodium, part.point, challenge));
  const said = concat(placeOf(part), part.publicShare, point, part.point, first, second);
  if (!equal(group.hashToScalar(sodium, said, "edna.guard.dleq1"), challenge)) {
    throw new GuardianRefused(`The proof of guardian ${part.number} is wrong.`);
  }
}

function placeOf({ enrolment, epoch, number }) {
  const place = new Uint8Array(9);
  new DataView(place.buffer).setBigUint64(0, BigInt(epoch));
  place[8] = number;
  return concat(enrolment, place);
}

/** The hash, and the numbers of guardians that were passed over: `{output, wrong}`. Throws QuorumUnavailable. */
export function combine(sodium, blinded, parts, { threshold, secretCommitment }) {
  const wrong = new Set();
  const epochs = new Map();
  for (const part of parts) {
    try {
      checkPart(sodium, part, blinded.point);
      if (!epochs.has(part.epoch)) epochs.set(part.epoch, new Map());
      epochs.get(part.epoch).set(part.number, part);
    } catch (error) {
      if (!(error instanceof GuardianRefused)) throw error;
      wrong.add(part.number);
    }
  }
  let most = 0;
  for (const right of [...epochs.values()].sort((one, other) => other.size - one.size)) {
    const found = agreed(sodium, right, { threshold, secretCommitment, wrong });
    most = Math.max(most, found.size);
    if (found.size < threshold) continue;
    const points = new Map(inOrder(found, threshold).map((number) => [number, found.get(number).point]));
    const point = group.multiply(sodium, group.combinePoints(sodium, points), sodium.invertScalar(blinded.factor));
    return { output: outputOf(sodium, blinded.data, point), wrong: [...wrong] };
  }
  throw new QuorumUnavailable({ have: most, need: threshold, wrong: [...wrong] });
}

function inOrder(found, most) {
  return [...found.keys()].sort((one, other) => one - other).slice(0, most);
}

/** Those whose public shares belong to the sharing of that secret. */
function agreed(sodium, right, { threshold, secretCommitment, wrong }) {
  if (right.size < threshold) return right;
  const first = inOrder(right, threshold);
  const shares = new Map(first.map((number) => [number, right.get(number).publicShare]));
  if (equal(group.combinePoints(sodium, shares), secretCommitment)) return new Map(first.map((number) => [number, right.get(number)]));
  // Somebody announces a share of something else. Those who say the same about the whole sharing, and are right about themselves, agree.
  const groups = new Map();
  for (const [number, part] of right) {
    if (fits(sodium, part, threshold, secretCommitment)) {
      const said = toHex(concat(...part.commitments));
      if (!groups.has(said)) groups.set(said, new Map());
      groups.get(said).set(number, part);
    } else {
      wrong.add(number);
    }
  }
  const found = [...groups.values()].reduce((most, each) => (each.size > most.size ? each : most), new Map());
  for (const number of right.keys()) if (!found.has(number)) wrong.add(number);
  return found;
}

function fits(sodium, { commitments, number, publicShare }, threshold, secretCommitment) {
  if (commitments.length !== threshold || !equal(commitments[0], secretCommitment)) return false;
  try {
    for (const each of commitments) group.pointOf(sodium, each);
    return equal(group.publicShare(sodium, commitments, number), publicShare);
  } catch (error) {
    if (!(error instanceof GuardianRefused)) throw error;
    return false; // one is no point, or they cancel each other out on the way
  }
}

/** The hash of an input, whose point was multiplied by the secret. */
export function outputOf(sodium, data, point) {
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(data.length));
  return sodium.blake2b(concat(size, data, point), { person: "edna.guard.out.1" });
}
