// Writes what the reference implementation of TOON makes of random documents,
// one JSON line per case. The seed is fixed, so every run writes the same.
//
// usage: node toon_oracle.mjs <path of the package's index.mjs> <cases per kind>
import { pathToFileURL } from "node:url";

const { encode, decode } = await import(pathToFileURL(process.argv[2]));
const CASES = Number(process.argv[3]);

let state = 0x5a3e1;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}
const below = (limit) => Math.floor(random() * limit);
const pick = (list) => list[below(list.length)];

// Keys that look like integers are left out: JavaScript objects move them.
const KEYS = ["a", "b", "c", "id", "name", "x.y", "_z", "", " ", "a b", "a:b", "[", "k-1", "é", "null", "#", "-", '"', "2a", "a,b", "a|b", "a\tb", "__proto__", "{}"];
const STRINGS = ["", "a", "hello world", "true", "null", "1", "-1.5", "05", "+1", "1e5", "1.", ".5", "a,b", "a|b", "a\tb", "a:b", "[]", "[1]", "{x}", "- a", "-", "#x", " a", "a ", "\n", "\r", "a\"b", "a\\b", "\u0000", "\u001f", "é", "😀", "\u00a0", "\ufeff", "x#y", "\u007f", "a-b", "Infinity", "NaN", "0x1"];
const NUMBERS = [0, -0, 1, -1, 1.5, 0.1, 1e6, 1e-6, 1e-7, 1.5e-9, 1e20, 1e21, 1.5e300, 5e-324, 123456789, 9007199254740993, -12345.678, 0.000001234, 1e15, 123456789012345680000];

function primitive() {
  const kind = below(10);
  if (kind < 5) return pick(STRINGS);
  if (kind < 8) return random() < 0.3 ? random() * 10 ** below(30) : pick(NUMBERS);
  return pick([true, false, null]);
}
function object(depth) {
  const value = {};
  for (let left = below(4); left > 0; left--) set(value, pick(KEYS), any(depth - 1));
  return value;
}
function set(target, key, value) {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
function uniform(depth) {
  const keys = [...new Set(Array.from({ length: 1 + below(4) }, () => pick(KEYS)))];
  const nested = keys.map(() => depth > 1 && random() < 0.2);
  const inner = ["a", "b"];
  return () => {
    const order = random() < 0.2 ? [...keys].reverse() : keys;
    const value = {};
    for (const key of order) {
      const group = {};
      for (const name of inner) group[name] = primitive();
      set(value, key, nested[keys.indexOf(key)] ? group : primitive());
    }
    return value;
  };
}
function any(depth) {
  if (depth <= 0) return primitive();
  const kind = below(10);
  if (kind < 3) return primitive();
  if (kind < 5) return object(depth);
  if (kind < 6) return Array.from({ length: below(4) }, primitive);
  if (kind < 7) return Array.from({ length: below(3) }, () => any(depth - 1));
  const make = uniform(depth);
  if (kind < 9) return Array.from({ length: 1 + below(3) }, make);
  const value = {};
  for (let left = 1 + below(3); left > 0; left--) set(value, pick(KEYS), make());
  return value;
}
const root = () => (random() < 0.1 ? primitive() : random() < 0.2 ? any(3) : object(4));

const PIECES = [":", ",", "|", "\t", "[", "]", "{", "}", '"', "\\", "-", "- ", "#", " ", "  ", "\n", "\r", "0", "1", "[2]", "[1]:", "[2]{a,b}:", "[1:]{a}:", "a", "a: 1", "key:", "\\u0041", "\\q", '"a"', "[]", "\u00a0", "\ufeff", "é"];
function mutate(text) {
  let lines = text.split("\n");
  for (let left = below(4); left > 0; left--) {
    const at = below(lines.length);
    switch (below(11)) {
      case 0: lines.splice(at, 1); break;
      case 1: lines.splice(at, 0, lines[at]); break;
      case 2: lines[at] = " ".repeat(1 + below(3)) + lines[at]; break;
      case 3: lines[at] = lines[at].replace(/^ {1,2}/, ""); break;
      case 4: lines.splice(at, 0, pick(["", "  ", "# note", "    # note", "\t", " \r"])); break;
      case 5: lines[at] = lines[at].replace(/\d/, () => String(below(4))); break;
      case 6: lines[at] += pick([" ", "  ", "\r", "\t", ",", ": "]); break;
      case 7: lines[at] = "\t" + lines[at]; break;
      case 8: lines.splice(at, 0, pick(["a: 1", "  - 1", "x", "  y", "- a: 1", "[2]: 1,2", "a[2]{b,c}:", "  1,2", "-"])); break;
      default: {
        const characters = Array.from(lines[at]);
        characters.splice(below(characters.length + 1), below(2), pick(PIECES));
        lines[at] = characters.join("");
      }
    }
    if (lines.length === 0) lines = [""];
  }
  return lines.join("\n");
}

// JSON readers may round long fractions, so numbers that are no small integers
// travel as text behind U+0001.
const exact = (_, value) => (typeof value === "number" && !Number.isSafeInteger(value) ? "\u0001" + value : value);
const write = (value) => process.stdout.write(JSON.stringify(value, exact) + "\n");
for (let count = 0; count < CASES; count++) {
  const delimiter = pick([",", ",", "\t", "|"]);
  const indentSize = pick([2, 2, 2, 4, 1]);
  const value = root();
  write({ k: "e", d: delimiter, i: indentSize, in: value, out: encode(value, { delimiter, indentSize }) });
}
for (const strict of [true, false]) {
  for (let count = 0; count < CASES; count++) {
    const indentSize = pick([2, 2, 2, 4]);
    const text = mutate(encode(root(), { delimiter: pick([",", ",", "\t", "|"]), indentSize }));
    let result;
    try {
      result = { out: decode(text, { strict, indentSize }) };
    } catch {
      result = {};
    }
    write({ k: strict ? "s" : "n", i: indentSize, in: text, ...result });
  }
}
