/** How extension values are spelled: docs/format.md, "Values". One value has one spelling; a reader refuses all others. */

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:E([+-][0-9]{1,19}))?$/;
const SPECIAL_DECIMAL = /^-?(?:Infinity|s?NaN(?:[1-9][0-9]*)?)$/;
const GREATEST_EXPONENT = 999999999999999999n;
const LEAST_EXPONENT = -1999999999999999997n;

const DAY = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/;
const CLOCK = /^([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{6}))?$/;
const OFFSET = /^([+-])([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{6}))?)?$/;
const TIMEDELTA = /^(0|-?[1-9][0-9]{0,8}):(0|[1-9][0-9]{0,4}):(0|[1-9][0-9]{0,5})$/;

export function isSpelled(type, text) {
  return SPELLINGS[type](text);
}

const SPELLINGS = {
  decimal: (text) => SPECIAL_DECIMAL.test(text) || isDecimal(text),
  date: (text) => isDay(text),
  time: (text) => isTime(text),
  datetime: (text) => text[10] === "T" && isDay(text.slice(0, 10)) && isTime(text.slice(11)),
  timedelta: (text) => {
    const parts = TIMEDELTA.exec(text);
    return parts !== null && Number(parts[2]) < 86400;
  },
};

/** Sign, digits and exponent of a finite number; null for the others. */
export function decimalParts(text) {
  const parts = DECIMAL.exec(text);
  if (parts === null) return null;
  const [, sign, whole, fraction = "", power = "+0"] = parts;
  const digits = (whole + fraction).replace(/^0+(?=[0-9])/, "");
  return { sign, digits, exponent: BigInt(power) - BigInt(fraction.length) };
}

function isDecimal(text) {
  const parts = decimalParts(text);
  if (parts === null) return false;
  const { sign, digits, exponent } = parts;
  const most = digits === "0" ? exponent : exponent + BigInt(digits.length) - 1n;
  if (most > GREATEST_EXPONENT || exponent < LEAST_EXPONENT) return false;
  return text === sign + spelled(digits, exponent);
}

/** The scientific notation of the General Decimal Arithmetic Specification. */
function spelled(digits, exponent) {
  const left = exponent + BigInt(digits.length);
  if (exponent <= 0n && left > -6n) {
    const point = Number(left);
    if (point <= 0) return `0.${"0".repeat(-point)}${digits}`;
    return point === digits.length ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  }
  const power = left - 1n;
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return digits[0] + fraction + (power === 0n ? "" : `E${power < 0n ? "" : "+"}${power}`);
}

function isDay(text) {
  const parts = DAY.exec(text);
  if (parts === null) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month);
}

function daysOf(year, month) {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
}

function isTime(text) {
  const at = text.search(/[+-]/);
  const clock = CLOCK.exec(at < 0 ? text : text.slice(0, at));
  return clock !== null && clock[4] !== "000000" && (at < 0 || isOffset(text.slice(at)));
}

/** Seconds and their fraction are written only if they are not zero, and zero is positive. */
function isOffset(text) {
  const parts = OFFSET.exec(text);
  if (parts === null) return false;
  const [, sign, hours, minutes, seconds, fraction] = parts;
  if (fraction === "000000" || (seconds === "00" && fraction === undefined)) return false;
  return sign === "+" || [hours, minutes, seconds ?? "00", fraction ?? "000000"].some((part) => Number(part) > 0);
}

/** What stands behind the clock, in microseconds; null if there is nothing. */
export function offsetMicroseconds(text) {
  const parts = /([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{6}))?)?$/.exec(text.slice(8));
  if (parts === null) return null;
  const [, sign, hours, minutes, seconds = "0", fraction = "0"] = parts;
  const amount = BigInt((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000000n + BigInt(fraction);
  return sign === "-" ? -amount : amount;
}
