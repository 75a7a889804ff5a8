/**
 * zlib streams (RFC 1950, RFC 1951). The browser's own reader is not used, because Node's passes over bytes behind the end, and neither can be
 * told a limit. Allocates as it goes, and no more than twice the limit.
 */

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
  ...[1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145],
  ...[8193, 12289, 16385, 24577],
];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const MOST_BITS = 15;
const END_OF_BLOCK = 256;

export class NotZlib extends Error {}
export class TooLong extends Error {}

/**
 * The bytes of a zlib stream that ends where `data` ends.
 *
 * Throws NotZlib, or TooLong where it expands to more than `limit` bytes.
 */
export function inflate(data, limit) {
  const input = new Bits(data);
  const [method, flags] = [input.byte(), input.byte()];
  if ((method & 15) !== 8 || method >> 4 > 7 || ((method << 8) | flags) % 31 || flags & 0x20) throw new NotZlib();
  const output = new Output(limit);
  for (let last = false; !last; ) {
    last = input.bits(1) === 1;
    const kind = input.bits(2);
    if (kind === 0) copyStored(input, output);
    else if (kind === 1) copyCoded(input, output, fixedLengths(), fixedDistances());
    else if (kind === 2) copyCoded(input, output, ...readCodes(input));
    else throw new NotZlib();
  }
  input.toByte();
  const result = output.taken();
  const checksum = ((input.byte() << 24) | (input.byte() << 16) | (input.byte() << 8) | input.byte()) >>> 0;
  if (checksum !== adler32(result) || !input.atEnd) throw new NotZlib();
  return result;
}

class Bits {
  #data;
  #at = 0;
  #waiting = 0;
  #count = 0;

  constructor(data) {
    this.#data = data;
  }

  get atEnd() {
    return this.#at === this.#data.length;
  }

  byte() {
    if (this.atEnd) throw new NotZlib();
    return this.#data[this.#at++];
  }

  bits(count) {
    while (this.#count < count) {
      this.#waiting |= this.byte() << this.#count;
      this.#count += 8;
    }
    const value = this.#waiting & ((1 << count) - 1);
    this.#waiting >>>= count;
    this.#count -= count;
    return value;
  }

  /** What is left of the byte that was begun is passed over. */
  toByte() {
    this.#waiting = this.#count = 0;
  }

  take(count) {
    if (this.#at + count > this.#data.length) throw new NotZlib();
    this.#at += count;
    return this.#data.subarray(this.#at - count, this.#at);
  }
}

class Output {
  #bytes = new Uint8Array(1024);
  #size = 0;
  #limit;

  constructor(limit) {
    this.#limit = limit;
  }

  taken() {
    return this.#bytes.slice(0, this.#size);
  }

  add(part) {
    this.#reserve(part.length);
    this.#bytes.set(part, this.#size);
    this.#size += part.length;
  }

  one(byte) {
    this.#reserve(1);
    this.#bytes[this.#size++] = byte;
  }

  again(distance, length) {
    if (distance > this.#size) throw new NotZlib();
    this.#reserve(length);
    for (let left = length; left; left--, this.#size++) this.#bytes[this.#size] = this.#bytes[this.#size - distance];
  }

  #reserve(more) {
    const needed = this.#size + more;
    if (needed > this.#limit) throw new TooLong();
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

function copyStored(input, output) {
  input.toByte();
  const length = input.byte() | (input.byte() << 8);
  const complement = input.byte() | (input.byte() << 8);
  if (length !== (~complement & 0xffff)) throw new NotZlib();
  output.add(input.take(length));
}

function copyCoded(input, output, lengths, distances) {
  for (;;) {
    const symbol = lengths.read(input);
    if (symbol < END_OF_BLOCK) {
      output.one(symbol);
      continue;
    }
    if (symbol === END_OF_BLOCK) return;
    const number = symbol - END_OF_BLOCK - 1;
    if (number >= LENGTH_BASE.length) throw new NotZlib();
    const length = LENGTH_BASE[number] + input.bits(LENGTH_EXTRA[number]);
    const which = distances.read(input);
    if (which >= DISTANCE_BASE.length) throw new NotZlib();
    output.again(DISTANCE_BASE[which] + input.bits(DISTANCE_EXTRA[which]), length);
  }
}

/** A canonical Huffman code. */
class Code {
  #count = new Uint16Array(MOST_BITS + 1);
  #symbols;

  constructor(lengths) {
    for (const length of lengths) this.#count[length]++;
    this.#symbols = new Uint16Array(lengths.length);
    const place = new Uint16Array(MOST_BITS + 2);
    for (let length = 1; length <= MOST_BITS; length++) place[length + 1] = place[length] + this.#count[length];
    lengths.forEach((length, symbol) => {
      if (length) this.#symbols[place[length]++] = symbol;
    });
    this.empty = this.#count[0] === lengths.length;
    /** How many codes are not used; negative if there are too many symbols. */
    this.left = 1;
    for (let length = 1; length <= MOST_BITS && this.left >= 0; length++) this.left = 2 * this.left - this.#count[length];
    this.single = this.#count[0] + this.#count[1] === lengths.length;
  }

  read(input) {
    let code = 0;
    let first = 0;
    let at = 0;
    for (let length = 1; length <= MOST_BITS; length++) {
      code |= input.bits(1);
      const count = this.#count[length];
      if (code - count < first) return this.#symbols[at + code - first];
      at += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new NotZlib();
  }
}

/** Complete, or of one symbol with one bit, or of none: what zlib takes. */
function usable(code) {
  if (code.left < 0 || (code.left > 0 && !code.single)) throw new NotZlib();
  return code;
}

function fixedLengths() {
  const of = (symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8);
  return new Code(Array.from({ length: 288 }, (_, symbol) => of(symbol)));
}

function fixedDistances() {
  return new Code(new Array(32).fill(5));
}

function readCodes(input) {
  const counts = [input.bits(5) + 257, input.bits(5) + 1, input.bits(4) + 4];
  const [literals, distances, codes] = counts;
  if (literals > 286 || distances > 30) throw new NotZlib();
  const short = new Array(19).fill(0);
  for (let number = 0; number < codes; number++) short[CODE_ORDER[number]] = input.bits(3);
  const lengthCode = new Code(short);
  if (lengthCode.left !== 0) throw new NotZlib();
  const lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = lengthCode.read(input);
    if (symbol < 16) {
      lengths.push(symbol);
      continue;
    }
    if (symbol === 16 && !lengths.length) throw new NotZlib();
    const repeated = symbol === 16 ? lengths.at(-1) : 0;
    const times = symbol === 16 ? 3 + input.bits(2) : symbol === 17 ? 3 + input.bits(3) : 11 + input.bits(7);
    if (lengths.length + times > literals + distances) throw new NotZlib();
    for (let time = 0; time < times; time++) lengths.push(repeated);
  }
  if (!lengths[END_OF_BLOCK]) throw new NotZlib();
  return [usable(new Code(lengths.slice(0, literals))), usable(new Code(lengths.slice(literals)))];
}

function adler32(data) {
  let [low, high] = [1, 0];
  for (let at = 0; at < data.length; ) {
    const end = Math.min(at + 3800, data.length);
    for (; at < end; at++) {
      low += data[at];
      high += low;
    }
    low %= 65521;
    high %= 65521;
  }
  return ((high << 16) | low) >>> 0;
}
