import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseAllDocuments,
  parseDocument,
  YAMLMap,
} from 'yaml';
import type { Locate, Path, Place } from './place.js';
import { findTangle } from './tangle.js';

export interface YamlProblem {
  readonly path: Path;
  readonly message: string;
  readonly place: Place;
}

export interface YamlText {
  /** Plain values; undefined where the text is not YAML at all. */
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
  readonly locate: Locate;
}

// Repeated keys are found below: the library compares every key with all before it, which hostile text makes slow.
const OPTIONS = { schema: 'core', uniqueKeys: false, prettyErrors: false } as const;

/** Nobody corrects more at a time, and a text can have a problem in every line. */
const PROBLEMS_MAX = 100;

/**
 * Reads YAML into plain values, and remembers where everything stands. Aliases, tags and repeated keys are problems.
 * The caller has bounded the length. Of a text with several documents, `merged` makes one by their top-level keys.
 * The time is linear in the length, whatever the text is.
 */
export function readYamlText(text: string, documents: 'one' | 'merged'): YamlText {
  const tangle = findTangle(text);
  if (tangle !== null) {
    const problems = [{ path: [], message: tangle.says, place: tangle.place }];
    return { value: undefined, problems, locate: () => null };
  }
  const lineCounter = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed = parse(text, documents, lineCounter);
  const root = rootOf(parsed);
  const offsets = new Offsets(root);
  const locate: Locate = (path) => placeAt(offsets.of(path));
  const problems: YamlProblem[] = [];
  const found = parsed.flatMap((doc) => [...doc.errors, ...doc.warnings]);
  for (const { message, pos } of found.slice(0, PROBLEMS_MAX)) {
    problems.push({ path: [], message: sentence(message), place: placeAt(pos[0]) });
  }
  const stray = strayDocument(parsed);
  if (stray !== null) {
    const message = 'Of several documents in one text, each is a map of names to values.';
    problems.push({ path: [], message, place: placeAt(stray) });
  }
  if (problems.length > 0) return { value: undefined, problems, locate };
  const value = new NodeReader(problems, offsets, placeAt).read(root);
  return { value, problems, locate };
}

function parse(text: string, documents: 'one' | 'merged', lineCounter: LineCounter): Document[] {
  // Each problem that the library finds is an error with the stack it was made on: that takes longer than to find it.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return parsedBy(text, documents, lineCounter);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function parsedBy(text: string, documents: 'one' | 'merged', lineCounter: LineCounter): Document[] {
  if (documents === 'one') return [parseDocument(text, { ...OPTIONS, lineCounter })];
  const all = parseAllDocuments(text, { ...OPTIONS, lineCounter });
  return 'empty' in all ? [] : all;
}

const filledOf = (documents: readonly Document[]): unknown[] =>
  documents.map(({ contents }) => contents as unknown).filter((root) => !isNothing(root));

/** Where the first of several documents begins that cannot be merged with the others. */
function strayDocument(documents: readonly Document[]): number | null {
  const filled = filledOf(documents);
  const stray = filled.length > 1 ? filled.find((root) => !isMap(root)) : undefined;
  return stray === undefined ? null : (rangeStart(stray) ?? 0);
}

/** The one document there is, or a map of what stands at the top of each. */
function rootOf(documents: readonly Document[]): unknown {
  const filled = filledOf(documents);
  if (filled.length <= 1 || !filled.every(isMap)) return filled[0] ?? documents[0]?.contents ?? null;
  const merged = new YAMLMap();
  merged.items = filled.flatMap(({ items }) => items);
  merged.range = filled[0]?.range ?? null;
  return merged;
}

const isNothing = (node: unknown): boolean => node === null || (isScalar(node) && node.value === null);

function sentence(message: string): string {
  if (message.includes('call stack')) return 'The text is nested too deeply.';
  return message.endsWith('.') ? message : `${message}.`;
}

class NodeReader {
  readonly #path: (string | number)[] = [];

  constructor(
    readonly problems: YamlProblem[],
    readonly offsets: Offsets,
    readonly placeAt: (offset: number) => Place,
  ) {}

  read(node: unknown): unknown {
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, at) => this.#inside(at, item));
    if (isMap(node)) return this.#readMap(node.items);
    if (isAlias(node)) {
      const said = `The alias *${node.source} is not read here; write the value out.`;
      this.#tell(this.#path, said, node.range?.[0] ?? 0);
    }
    return null;
  }

  #inside(step: string | number, node: unknown): unknown {
    this.#path.push(step);
    const value = this.read(node);
    this.#path.pop();
    return value;
  }

  #readMap(pairs: readonly Pair[]): Record<string, unknown> {
    const fields = new Map<string, unknown>();
    for (const pair of pairs) {
      const name = nameOf(pair);
      if (name === null) {
        this.#tell(this.#path, 'A name is plain text.', this.offsets.of(this.#path));
      } else if (fields.has(name)) {
        const said = `${JSON.stringify(name)} is written twice here; keep one of them.`;
        this.#tell([...this.#path, name], said, offsetOfKey(pair));
      } else {
        fields.set(name, this.#inside(name, pair.value));
      }
    }
    // Own properties whatever the name, so that a `__proto__` is seen and refused like any other name.
    return Object.fromEntries(fields);
  }

  #tell(path: Path, message: string, offset: number): void {
    if (this.problems.length >= PROBLEMS_MAX) return;
    this.problems.push({ path: [...path], message, place: this.placeAt(offset) });
  }
}

/** As written: a field called `NULL` or `TRUE` is a name, not a value. */
function nameOf(pair: Pair): string | null {
  if (!isScalar(pair.key)) return null;
  return pair.key.source ?? String(pair.key.value);
}

const offsetOfKey = (pair: Pair): number => (isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0);

/**
 * Where a path is written, or as much of it as there is: a field at its name, an item where it begins. The names of a map
 * are indexed once: to search a wide map again for each of its fields takes the square of its width.
 */
class Offsets {
  readonly #fields = new Map<unknown, ReadonlyMap<string, Pair>>();

  constructor(readonly root: unknown) {}

  of(path: Path): number {
    let node = this.root;
    let offset = rangeStart(this.root) ?? 0;
    for (const step of path) {
      if (isMap(node)) {
        const pair = this.#fieldsOf(node).get(step as string);
        if (pair === undefined) break;
        offset = offsetOfKey(pair);
        node = pair.value;
      } else if (isSeq(node) && typeof step === 'number') {
        node = node.items[step];
        offset = rangeStart(node) ?? offset;
      } else break;
    }
    return offset;
  }

  #fieldsOf(node: YAMLMap): ReadonlyMap<string, Pair> {
    const known = this.#fields.get(node);
    if (known !== undefined) return known;
    const fields = new Map<string, Pair>();
    for (const pair of node.items) {
      const name = nameOf(pair);
      if (name !== null && !fields.has(name)) fields.set(name, pair);
    }
    this.#fields.set(node, fields);
    return fields;
  }
}

function rangeStart(node: unknown): number | null {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? null) : null;
}
