/** Maximum nesting: prevents stack overflow in recursive code, and no input needs more. */
export const JSON_DEPTH_MAX = 100;

/**
 * Maximum number of objects and arrays in one JSON document. Parsing them takes far longer than the length of the text
 * suggests.
 */
const CONTAINERS_MAX = 50_000;

/** Parsed value, or what is wrong with the text, for a person. */
type JsonParseResult = { readonly value: unknown } | { readonly fault: string };

/**
 * Parses untrusted JSON and rejects duplicate names in an object. `JSON.parse` silently keeps the last duplicate while
 * other parsers keep the first, so one program could check a value and another program use a different one.
 */
export function readStrictJson(text: string, containersMax = CONTAINERS_MAX): JsonParseResult {
  const fault = structureFault(text, containersMax);
  if (fault !== null) return { fault };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `expected JSON (${error instanceof Error ? error.message : 'not JSON'})` };
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Finds duplicate names, excessive nesting and too many objects and arrays in one pass before parsing. The pass reads only
 * strings, brackets and commas; other syntax errors are left to `JSON.parse`.
 */
function structureFault(text: string, containersMax: number): string | null {
  /** The names seen so far in each enclosing object, outermost first; null for an array and for the top level. */
  const openScopes: (Set<string> | null)[] = [];
  let names: Set<string> | null = null;
  let isNameNext = false;
  let containerCount = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index);
        if (isNameNext && names !== null) {
          const name = nameIn(text, index, end);
          if (names.has(name))
            return `the name ${quoteName(name)} occurs twice in one JSON object; remove one of them`;
          names.add(name);
          isNameNext = false;
        }
        index = end;
        break;
      }
      case COMMA:
        isNameNext = names !== null;
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (openScopes.length === JSON_DEPTH_MAX)
          return `expected JSON that is nested at most ${JSON_DEPTH_MAX} deep`;
        containerCount += 1;
        if (containerCount > containersMax)
          return `expected at most ${containersMax} objects and arrays; upload more data as a file`;
        openScopes.push(names);
        isNameNext = text.charCodeAt(index) === OPEN_OBJECT;
        names = isNameNext ? new Set() : null;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        names = openScopes.pop() ?? null;
        isNameNext = false;
    }
  }
  return null;
}

/** Index of the closing quote of the string that starts here; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashCount = 0;
    while (text.charCodeAt(end - 1 - backslashCount) === BACKSLASH) backslashCount += 1;
    if (backslashCount % 2 === 0) return end;
  }
  return text.length;
}

/** Decodes escapes, so that two spellings of one name compare equal. */
function nameIn(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end);
  if (!name.includes('\\')) return name;
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}

const QUOTED_NAME_LENGTH_MAX = 100;
const quoteName = (name: string): string =>
  JSON.stringify(name.length > QUOTED_NAME_LENGTH_MAX ? `${name.slice(0, QUOTED_NAME_LENGTH_MAX)}…` : name);
