/** Nothing that is read here needs more, and code that walks a value by recursion must not run out of stack. */
export const JSON_DEPTH_MAX = 100;

/** The value of a JSON text, or what is wrong with the text, for a person. */
export type JsonParseResult = { readonly value: unknown } | { readonly fault: string };

/**
 * Reads JSON from outside. `JSON.parse` keeps the last of two members with one name, silently, while other readers keep
 * the first: what one of them has checked, the other does not do. So a name that an object has twice is a fault.
 */
export function readStrictJson(text: string): JsonParseResult {
  const fault = structureFault(text);
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
 * One pass over the text, before it is parsed: a name twice in one object, or nesting without end. It looks at strings,
 * brackets and commas alone; what is not JSON at all is left to `JSON.parse`.
 */
function structureFault(text: string): string | null {
  /** The names of every object that is open; null for a list. */
  const openScopes: (ObjectKeys | null)[] = [];
  let names: ObjectKeys | null = null;
  let isNameNext = false;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index);
        if (isNameNext && names !== null) {
          const name = nameIn(text, index, end);
          if (!names.add(name))
            return `the name ${quoteName(name)} occurs twice in one JSON object; remove one of them`;
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
        openScopes.push(names);
        isNameNext = text.charCodeAt(index) === OPEN_OBJECT;
        names = isNameNext ? new ObjectKeys() : null;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        names = openScopes.pop() ?? null;
        isNameNext = false;
    }
  }
  return null;
}

/** Where the closing quote of the string is that begins here; the end of the text, where it has none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Two spellings of one name, as `a` and its escape, are the same name. */
function nameIn(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end);
  if (!name.includes('\\')) return name;
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}

const NAME_QUOTED_MAX = 100;
const quoteName = (name: string): string =>
  JSON.stringify(name.length > NAME_QUOTED_MAX ? `${name.slice(0, NAME_QUOTED_MAX)}…` : name);

const LIST_SCAN_MAX = 8;

/** The names of one object. Most objects have few: comparing with each is then faster than making a set. */
class ObjectKeys {
  readonly #list: string[] = [];
  #set: Set<string> | null = null;

  /** False: it was there already. */
  add(name: string): boolean {
    if (this.#set !== null) {
      if (this.#set.has(name)) return false;
      this.#set.add(name);
      return true;
    }
    if (this.#list.includes(name)) return false;
    this.#list.push(name);
    if (this.#list.length > LIST_SCAN_MAX) this.#set = new Set(this.#list);
    return true;
  }
}
