/** Maximum length of the name of a state, in characters. */
const STATE_NAME_LENGTH_MAX = 80;

/** Gives each state a printable name that is unique in the whole document, including all branches. */
export class StateNames {
  readonly #used: Set<string>;

  constructor(reserved: Iterable<string>) {
    this.#used = new Set(reserved);
  }

  /** `Check: tests_pass`; a second one with the same first 80 characters ends with ` (2)`. */
  uniqueName(prefix: string, name: string): string {
    const full = `${prefix}: ${printableName(name)}`;
    let unique = shortened(full, STATE_NAME_LENGTH_MAX);
    for (let count = 2; this.#used.has(unique); count += 1) {
      const suffix = ` (${count})`;
      unique = shortened(full, STATE_NAME_LENGTH_MAX - suffix.length) + suffix;
    }
    this.#used.add(unique);
    return unique;
  }
}

/** The name without control characters, invisible characters, parts of surrogate pairs and line breaks. */
function printableName(name: string): string {
  const text = name
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .normalize('NFC')
    .trim();
  return text === '' ? 'unnamed' : text;
}

/** The text cut to at most this many UTF-16 units, not in the middle of a character. */
function shortened(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return text
    .slice(0, lengthMax)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}
