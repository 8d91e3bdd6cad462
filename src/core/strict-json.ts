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
  const structure = readStructure(text, containersMax);
  if (typeof structure === 'string') return { fault: structure };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `expected JSON (${error instanceof Error ? error.message : 'not JSON'})` };
  }
  // JSON.parse keeps one member per name, so a value with duplicate names has fewer members than its text.
  if (countMembers(value) === structure.memberCount) return { value };
  const name = quoteName(firstDuplicateName(text));
  return { fault: `the name ${name} occurs twice in one JSON object; remove one of them` };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Counts the members of all objects, and finds excessive nesting and too many objects and arrays, in one pass before
 * parsing. A string says what is excessive. The pass reads only strings, brackets and colons; syntax errors are left to
 * `JSON.parse`.
 */
function readStructure(text: string, containersMax: number): { readonly memberCount: number } | string {
  let depth = 0;
  let containerCount = 0;
  let memberCount = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfString(text, index);
        break;
      case COLON:
        memberCount += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (depth === JSON_DEPTH_MAX) return `expected JSON that is nested at most ${JSON_DEPTH_MAX} deep`;
        depth += 1;
        containerCount += 1;
        if (containerCount > containersMax)
          return `expected at most ${containersMax} objects and arrays; upload more data as a file`;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth = Math.max(0, depth - 1);
    }
  }
  return { memberCount };
}

/** The number of members of all objects in a parsed value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countMembers(item);
  else
    for (const name of Object.keys(value))
      count += 1 + countMembers((value as Readonly<Record<string, unknown>>)[name]);
  return count;
}

/** The first name that occurs twice in one object of a valid JSON text that has such a name. */
function firstDuplicateName(text: string): string {
  /** The names seen so far in each enclosing object, outermost first; null for an array and for the top level. */
  const openScopes: (Set<string> | null)[] = [];
  let names: Set<string> | null = null;
  let isNameNext = false;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index);
        if (isNameNext && names !== null) {
          const name = nameIn(text, index, end);
          if (names.has(name)) return name;
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
  throw new Error('A JSON text without duplicate names has lost members while it was parsed.');
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
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}

const QUOTED_NAME_LENGTH_MAX = 100;
const quoteName = (name: string): string =>
  JSON.stringify(name.length > QUOTED_NAME_LENGTH_MAX ? `${name.slice(0, QUOTED_NAME_LENGTH_MAX)}…` : name);
